"""Mounted stores kept alike with sessions: what each side did is done on the other, and unread is not deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.errors import Unavailable
from gateway.runners.mounts.store_mounts import StoreMount
from gateway.runners.providers.unix_local import UnixLocal
from gateway.runners.providers.wasm import Wasm
from gateway.runners.runner_session import RunnerSession
from gateway.runners.session_state import MemoryStates
from gateway.runners.wire import CommandResult, Destination
from tests.gateway.runners.mounts.test_manifests import (
    PROVIDERS,
    VAULT,
    Recording,
    bucket,
    destination,
    endpoint,
    http,
    keys,
    store_of,
)
from tests.gateway.runners.places import go, read, run, write

__all__ = ["endpoint", "http"]


class Store:
    """An object store in memory that can be away."""

    is_near = False

    def __init__(self, **objects: bytes) -> None:
        self.objects = {name: (data, 1) for name, data in objects.items()}
        self.is_away = False

    def _check(self) -> None:
        if self.is_away:
            raise Unavailable("RUNNER_UNAVAILABLE", "the object store cannot be reached")

    async def list(self) -> AsyncIterator[tuple[str, str]]:
        self._check()
        for name, (_, version) in self.objects.items():
            yield name, str(version)

    async def get(self, key: str) -> bytes:
        return self.objects[key][0]

    async def put(self, key: str, contents: bytes) -> str:
        self._check()
        version = self.objects.get(key, (b"", 0))[1] + 1
        self.objects[key] = contents, version
        return str(version)

    async def delete(self, key: str) -> None:
        self._check()
        self.objects.pop(key, None)


class Side(dict[str, bytes | None]):
    is_there = True

    async def survey(self) -> dict[str, bytes | None] | None:
        return dict(self) if self.is_there else None

    async def put(self, key: str, contents: bytes) -> None:
        self[key] = contents

    async def remove(self, key: str) -> None:
        del self[key]


def test_changes_of_both_sides_meet_and_the_sessions_own_is_kept_where_they_differ() -> None:
    async def main() -> None:
        store, side = Store(a=b"1", b=b"1", c=b"1", d=b"1"), Side()
        mount = StoreMount("m", "m", store, side, read_only=False)
        await mount.pull()
        assert side == {"a": b"1", "b": b"1", "c": b"1", "d": b"1"}
        side["a"] = b"mine"
        del side["b"]
        await store.put("a", b"theirs")
        await store.put("c", b"theirs")
        await store.delete("d")
        later = StoreMount("m", "m", store, side, read_only=False, known=mount.known)  # as after a restart
        await later.pull()
        assert side == {"a": b"mine", "c": b"theirs"}
        assert await later.push() == []
        assert {name: data for name, (data, _) in store.objects.items()} == {"a": b"mine", "c": b"theirs"}

    go(main())


def test_what_cannot_be_read_or_is_out_of_reach_is_told_and_nothing_is_deleted() -> None:
    async def main() -> None:
        store, side = Store(a=b"1", b=b"1"), Side()
        mount = StoreMount("m", "m", store, side, read_only=False)
        await mount.pull()
        side["a"] = None
        assert await mount.push() == ["mount m: a cannot be read; the store keeps what it has"]
        side.is_there = False
        assert "its folder is gone" in (await mount.push())[0]
        side.is_there, side["a"], side["new"] = True, b"1", b"2"
        del side["b"]
        store.is_away = True
        assert "was not written back, and will be" in (await mount.push())[0]
        assert sorted(store.objects) == ["a", "b"]
        store.is_away = False
        assert await mount.push() == []
        assert sorted(store.objects) == ["a", "new"]

    go(main())


async def sh(session: RunnerSession, code: str) -> CommandResult:
    return await run(session, "sh", "-c", code)


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_second_name_for_a_file_deletes_no_object_and_the_result_stays(
    name: str, endpoint: str, http: Recording, tmp_path: Path
) -> None:
    async def main() -> None:
        where = f"linked-{name}"
        await bucket(endpoint, http, where, a=b"one", b=b"two")
        provider = PROVIDERS[name](http, tmp_path)
        session = await provider.create(destination(name, endpoint, f"{where}/in", False))
        done = await sh(session, "ln data/a data/second; echo out; exit 3")
        assert (done.stdout, done.exit_code) == ("out\n", 3) and "cannot be read" in done.warnings[0]
        assert sorted(await keys(store_of(endpoint, http, f"{where}/in"))) == ["a", "b"]
        await sh(session, "rm data/second data/b")
        assert await keys(store_of(endpoint, http, f"{where}/in")) == ["a"]
        done = await sh(session, "mv data elsewhere; echo moved")
        assert done.stdout == "moved\n" and "its folder is gone" in done.warnings[0]
        assert await keys(store_of(endpoint, http, f"{where}/in")) == ["a"]
        await provider.close()

    go(main())


@pytest.mark.parametrize("name", ["wasm", "unix-local"])
def test_a_session_that_is_found_again_brings_back_nothing_that_was_deleted(
    name: str, endpoint: str, http: Recording, tmp_path: Path
) -> None:
    async def main() -> None:
        where, states = f"again-{name}", MemoryStates()
        await bucket(endpoint, http, where, a=b"one", b=b"two", c=b"three")
        place = destination(name, endpoint, f"{where}/in", False)

        def make() -> Wasm | UnixLocal:
            more = {"http": http, "secrets": VAULT, "states": states}
            return Wasm(**more) if name == "wasm" else UnixLocal(tmp_path, **more)

        provider = make()
        session = await provider.create(place)
        await sh(session, "rm data/a; echo mine > data/b")
        store = store_of(endpoint, http, f"{where}/in")
        await store.delete("c")
        state = session.state
        await provider.close()
        provider = make()
        again = await provider.resume(place, state)
        assert (await sh(again, "ls data; cat data/b")).stdout == "b\nmine\n"
        assert await keys(store) == ["b"]
        await write(again, "data/d", b"new")
        assert (await read(again, "data/d"), sorted(await keys(store))) == (b"new", ["b", "d"])
        await provider.close()

    go(main())


def test_a_destination_without_mounts_has_none() -> None:
    async def main() -> None:
        provider = Wasm()
        session = await provider.create(Destination(id="d", provider_id="wasm"))
        assert (await sh(session, "echo hi")).warnings == []
        await provider.close()

    go(main())
