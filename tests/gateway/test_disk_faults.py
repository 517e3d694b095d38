"""The short version of the disk campaign (`python -m tests.gateway.disk_campaign` tries every call)."""

from __future__ import annotations

from pathlib import Path

from tests.gateway.disk_campaign import run_campaign


def test_a_gateway_whose_disk_fails_says_so_serves_reads_and_goes_on_when_it_is_whole_again(tmp_path: Path) -> None:
    report = run_campaign(tmp_path, every=60)
    assert not report.problems, str(report)
    assert report.answers["STORE_FULL"] and report.answers["STORE_IO"] and report.answers["ok"]
