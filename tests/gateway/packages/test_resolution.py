"""Which versions are chosen from an index of the tests' own, and what is said when there are none."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateway.egress.client import Egress
from gateway.packages.bundled import list_bundled
from gateway.packages.locking import fetch, lock
from gateway.packages.resolution import read_requirements
from gateway.packages.simple_pages import JSON
from gateway.packages.wheel_sources import Index, Source, WheelHouse
from sandbox.engine.cache import Cache
from sandbox.errors import RequestError
from sandbox.packages.layers import Layers
from sandbox.packages.locks import Lock, Locked, read_lock
from tests.gateway.web import Request, answer, serve
from tests.wheels import make_wheel, write_page

Wheel = tuple[str, bytes]
OLD, YOUNG = "2020-01-01T00:00:00Z", (datetime.now(UTC) - timedelta(hours=1)).isoformat()


class Shop:
    """An index over HTTP. `said` is added to all files of a project."""

    def __init__(self, projects: Mapping[str, Sequence[Wheel]], said: Mapping[str, Mapping[str, object]] | None = None) -> None:
        self.projects, self.said, self.html = projects, said or {}, False
        self.files = {name: data for wheels in projects.values() for name, data in wheels}

    def __call__(self, request: Request) -> bytes:
        parts = request.path.strip("/").split("/")
        if parts[0] == "files" and parts[1] in self.files:
            return answer(self.files[parts[1]])
        if parts[0] == "simple" and parts[1] in self.projects:
            wheels = self.projects[parts[1]]
            if self.html:
                links = [f'<a href="/files/{name}#sha256={hashlib.sha256(data).hexdigest()}">{name}</a>' for name, data in wheels]
                return answer(f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode(), Content_Type="text/html")
            return answer(write_page(wheels, **self.said.get(parts[1], {})), Content_Type=JSON)
        return answer(b"no", "404 Not Found")


def make_app(version: str) -> Wheel:
    return make_wheel("app", version, {f"app{version[0]}.py": ""}, needs=["base>=1", "extra; extra == 'more'"])


def make_shop() -> Shop:
    return Shop(
        {
            "app": [
                make_wheel("app", v, {f"app{v[0]}.py": ""}, needs=["base>=1", "extra; extra == 'more'"]) for v in ("1.0", "2.0")
            ],
            "base": [make_wheel("base", v, {"base.py": f"v = {v!r}\n"}) for v in ("0.9", "1.0", "1.5", "2.0rc1")],
            "extra": [make_wheel("extra", "1.0", {"extra.py": ""})],
            "old": [make_wheel("old", "1.0", {"old.py": ""}, needs=["base<1"])],
            "native": [("native-1.0-cp315-cp315-linux_x86_64.whl", b"x")],
            "data": [make_wheel("data", "1.0", {"data.py": ""}, needs=["numpy>=2"])],
            "greedy": [make_wheel("greedy", "1.0", {"greedy.py": ""}, needs=["numpy>=99"])],
        }
    )


def choose(shop: Shop, *wanted: str, cooldown_days: float = 0, house: Path | None = None) -> dict[str, str]:
    """What is chosen besides what guests have."""
    text, _ = asyncio.run(_lock(shop, wanted, cooldown_days, house))
    return {locked.name: locked.version for locked in read_lock(text.encode()).packages}


async def _lock(shop: Shop, wanted: Sequence[str], cooldown_days: float, house: Path | None) -> tuple[str, Lock]:
    async with serve(shop) as web:
        text, _ = await lock(read_requirements(wanted), make_sources(web.url, web.service, cooldown_days, house))
        return text, read_lock(text.encode())


def make_sources(url: str, service: str, cooldown_days: float = 0, house: Path | None = None) -> list[Source]:
    index = Index(f"{url}/simple", Egress(ports=[int(service.rpartition(":")[2])], allow_private=[service]), cooldown_days)
    return [index] if house is None else [WheelHouse(house), index]


def refusal(shop: Shop, *wanted: str, cooldown_days: float = 0) -> RequestError:
    with pytest.raises(RequestError) as error:
        choose(shop, *wanted, cooldown_days=cooldown_days)
    return error.value


def test_the_newest_versions_that_fit_are_chosen_with_what_they_need() -> None:
    assert choose(make_shop(), "app") == {"app": "2.0", "base": "1.5"}
    assert choose(make_shop(), "app<2", "base==1.0") == {"app": "1.0", "base": "1.0"}
    assert choose(make_shop(), "base>=2.0rc0") == {"base": "2.0rc1"}


def test_extras_bring_their_own_requirements() -> None:
    assert choose(make_shop(), "app[more]") == {"app": "2.0", "base": "1.5", "extra": "1.0"}


def test_an_index_that_speaks_html_is_read_too() -> None:
    shop = make_shop()
    shop.html = True
    assert choose(shop, "app") == {"app": "2.0", "base": "1.5"}


def test_what_guests_have_is_used_as_it_is_and_not_locked() -> None:
    assert choose(make_shop(), "data") == {"data": "1.0"}
    told = refusal(make_shop(), "greedy")
    assert told.error.code == "PACKAGES_UNRESOLVED" and "greedy 1.0 needs numpy>=99" in str(told)
    assert f"numpy {list_bundled()['numpy']} is part of the sandbox's Python" in (told.error.hint or "")


def test_a_conflict_names_who_asks_for_what() -> None:
    told = refusal(make_shop(), "app", "old")
    assert "app 2.0 needs base>=1" in str(told) or "app 1.0 needs base>=1" in str(told)
    assert "old 1.0 needs base<1" in str(told)


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("native", "no wheel that can be used here"),
        ("missing", "no source knows missing"),
        ("base>9", "newest base that can be used"),
    ],
)
def test_what_cannot_be_had_is_told_with_the_reason(wanted: str, hint: str) -> None:
    assert hint in (refusal(make_shop(), wanted).error.hint or "")


def test_a_young_release_is_not_taken_and_neither_is_one_without_a_time() -> None:
    shop = make_shop()
    assert choose(shop, "base") == {"base": "1.5"}
    shop.said = {"base": {"upload-time": OLD}}
    assert choose(shop, "base", cooldown_days=7) == {"base": "1.5"}
    for said in ({"upload-time": YOUNG}, {}):
        shop.said = {"base": said}
        assert "too young" in (refusal(shop, "base", cooldown_days=7).error.hint or "")


def test_a_release_that_was_withdrawn_is_taken_only_if_it_is_named() -> None:
    shop = make_shop()
    shop.said = {"extra": {"yanked": "broken"}}
    assert "withdrawn" in (refusal(shop, "extra").error.hint or "")
    assert choose(shop, "extra==1.0") == {"extra": "1.0"}


def test_a_release_for_another_python_is_no_candidate() -> None:
    shop = make_shop()
    shop.said = {"extra": {"requires-python": "<3.15"}}
    assert "not for Python 3.15" in (refusal(shop, "extra").error.hint or "")


def test_tm_pkg_confusion_the_first_source_that_has_a_project_is_the_only_one_for_it(tmp_path: Path) -> None:
    name, data = make_wheel("base", "1.2", {"base.py": ""})
    (tmp_path / name).write_bytes(data)
    assert choose(make_shop(), "app", house=tmp_path) == {"app": "2.0", "base": "1.2"}


def test_tm_pkg_swap_other_bytes_than_those_that_were_locked_are_refused(tmp_path: Path) -> None:
    shop, layers = make_shop(), Layers(Cache(tmp_path / "packages"))

    async def scenario() -> None:
        async with serve(shop) as web:
            sources = make_sources(web.url, web.service)
            text, _ = await lock(read_requirements(["extra"]), sources)
            wanted = read_lock(text.encode())
            good = shop.files["extra-1.0-py3-none-any.whl"]
            shop.files["extra-1.0-py3-none-any.whl"] = make_wheel("extra", "1.0", {"extra.py": "evil = 1\n"})[1]
            with pytest.raises(RequestError) as error:
                await fetch(wanted, sources, layers, tmp_path)
            assert error.value.error.code == "PACKAGE_MISMATCH" and layers.list() == []
            shop.files["extra-1.0-py3-none-any.whl"] = good
            assert [one.name for one in await fetch(wanted, sources, layers, tmp_path)] == ["extra"]
            asked = len(web.requests)
            assert await fetch(wanted, sources, layers, tmp_path) == [] and len(web.requests) == asked

    asyncio.run(scenario())


@pytest.mark.parametrize("path", ["/dev/zero", "missing.whl", "."])
def test_tm_pkg_swap_a_lock_that_names_no_file_next_to_it_is_refused_and_not_read(tmp_path: Path, path: str) -> None:
    locked = Locked("demo", "1.0", "demo-1.0-py3-none-any.whl", "ab" * 32, path=path)
    with pytest.raises(RequestError, match="no file next to the lock") as error:
        asyncio.run(fetch(Lock((locked,)), [WheelHouse(tmp_path)], Layers(Cache(tmp_path / "packages")), tmp_path))
    assert error.value.error.code == "PACKAGE_SOURCE_FAILED"


def test_a_source_that_fails_is_told_and_private_addresses_are_not_reached() -> None:
    async def scenario() -> None:
        async with serve(lambda request: answer(b"{", Content_Type=JSON)) as web:
            with pytest.raises(RequestError, match="cannot be read"):
                await lock(read_requirements(["app"]), make_sources(web.url, web.service))
            guarded = Index(f"{web.url}/simple", Egress(ports=[web.port]))
            with pytest.raises(RequestError, match="not a public address") as error:
                await lock(read_requirements(["app"]), [guarded])
            assert error.value.error.code == "PACKAGE_SOURCE_FAILED" and not web.requests[1:]

    asyncio.run(scenario())


@pytest.mark.parametrize("line", ["-r other.txt", "--index-url https://a.example", "demo @ https://a.example/d.whl", "what ever"])
def test_options_and_addresses_in_requirements_are_refused(line: str) -> None:
    with pytest.raises(RequestError) as error:
        read_requirements(["# a note", "", line])
    assert error.value.error.code == "INVALID_ARGUMENT" and "line 3" in str(error.value)
