"""The examples do what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_the_refund_waits_for_finance_and_no_card_number_is_seen() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "refunds" / "drive.py")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    *lines, last = done.stdout.splitlines()
    assert re.fullmatch(r"the audit log has \d\d records; whole: True", last)
    assert lines == [
        "policy in force: shop.agent v 1",
        "the program said: order o-1 on card ****-****-****-9010 cost 44.0 USD",
        "and now: waiting_for_approval the run waits for an approval",
        "finance is asked about: orders_refund {'order': 'o-1', 'amount': 40}",
        "after the decision: {'said': '40 EUR go back', 'card': '****-****-****-9010'}",
        "and a refund of 900: permission_denied - the policy refuses orders_refund: refunds over 500 are made by the office",
    ]
