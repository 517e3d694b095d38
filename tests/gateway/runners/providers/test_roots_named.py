"""A destination whose root the gateway would never serve is refused when it is named, not when it is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.errors import Forbidden
from gateway.runners.providers.unix_local import UnixLocal
from gateway.runners.wire import Destination


def named(base: Path, root: str) -> None:
    UnixLocal(base).validate_destination(Destination(id="d", provider_id="unix-local", config={"root": root}))


@pytest.mark.parametrize("root", ["/", "/etc", "{base}/..", "{base}/own/../..", "{base}else"])
def test_a_root_outside_of_the_operators_directory_is_refused(root: str, tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    with pytest.raises(Forbidden):
        named(base, root.format(base=base))


def test_roots_inside_pass_also_where_the_directory_has_another_name(tmp_path: Path) -> None:
    base, link = tmp_path / "base", tmp_path / "link"
    base.mkdir()
    link.symlink_to(base)
    for root in (base, base / "own", base / "own" / ".." / "other"):
        named(base, str(root))
    named(link, str(link / "own"))
    named(link, str(base / "own"))
