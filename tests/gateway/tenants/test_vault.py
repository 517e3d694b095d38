"""Secrets: sealed at rest, bound to tenant and name, rotated, and never shown."""

from __future__ import annotations

import asyncio
import getpass
import pickle
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gateway.clock import now_ms
from gateway.configuration import Configuration
from gateway.errors import BadRequest, GatewayError, Internal, NotFound, TooLarge
from gateway.service import Service
from gateway.stores.changes import PutSecret, PutTenant
from gateway.stores.engines.memory import MemoryStore
from gateway.stores.engines.sqlite import SqliteStore
from gateway.tenants.vault import MASTER_VARIABLE, LocalMasterKey, Vault, choose_master
from hatchway.cli.entry import main
from sandbox.encoding.sealing import Keys, local_keys, rotate_local_keys
from sandbox.errors import SetupError
from tests.gateway.stores.making import AT, put_session, tenant

KEYS = Keys.of(b"m" * 32)
CANARY = "hunter2-canary-hunter2"


def with_vault(scenario: Callable[[Vault, MemoryStore], Awaitable[None]]) -> None:
    async def main() -> None:
        store = MemoryStore()
        for name in ("t1", "t2"):
            await store.write(name, [PutTenant(tenant(name)), put_session(of=name)])
        await scenario(Vault(store, KEYS, now_ms), store)

    asyncio.run(main())


def test_a_secret_is_set_read_listed_by_name_and_deleted() -> None:
    async def scenario(vault: Vault, store: MemoryStore) -> None:
        await vault.set("t1", "b", CANARY)
        await vault.set("t1", "a", "x", "s1")
        found = await vault.get("t1", "b")
        assert found is not None and found.reveal() == CANARY
        assert [one.name for one in await vault.list("t1")] == ["b"]
        assert [one.name for one in await vault.list("t1", "s1")] == ["a"]
        assert await vault.get("t1", "b", "s1") is None and await vault.get("t2", "b") is None
        assert await vault.delete("t1", "b") is True and await vault.delete("t1", "b") is False

    with_vault(scenario)


def test_every_change_of_a_secret_is_audited_with_its_name_and_author_and_without_its_value() -> None:
    async def scenario(vault: Vault, store: MemoryStore) -> None:
        await vault.set("t1", "stripe", CANARY, by="ann")
        await vault.set("t1", "stripe", CANARY + "2", by="ann")
        await vault.set("t1", "stripe", CANARY, "s1", by="bob")
        await vault.rotate("t1", by="ops")
        await vault.rewrap("t1", by="ops")
        await vault.delete("t1", "stripe", "s1", by="bob")
        assert await vault.delete("t1", "nothing", by="bob") is False
        records = await store.audit("t1")
        assert [(one.kind, one.actor, one.subject, one.data) for one in records] == [
            ("secret.set", "ann", "stripe", {"session": "", "new": True}),
            ("secret.set", "ann", "stripe", {"session": "", "new": False}),
            ("secret.set", "bob", "stripe", {"session": "s1", "new": True}),
            ("secret.rotate", "ops", "2", {}),
            ("secret.rewrap", "ops", "t1", {"keys": 2}),
            ("secret.delete", "bob", "stripe", {"session": "s1"}),
        ]
        assert CANARY not in repr(records)
        assert await store.audit("t2") == []

    with_vault(scenario)


def test_tm_store_secret_a_value_is_in_no_file_listing_repr_or_error(tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "store.db")
        await store.write("t1", [PutTenant(tenant("t1")), put_session()])
        vault = Vault(store, KEYS, now_ms)
        await vault.set("t1", "name", CANARY)
        await vault.set("t1", "name", CANARY, "s1")
        found = await vault.get("t1", "name")
        assert found is not None and CANARY not in f"{found!r} {found} {vault!r} {found.__dir__()}"
        with pytest.raises(TypeError):
            pickle.dumps(found)
        assert CANARY not in str((await vault.list("t1")).items)
        with pytest.raises(TooLarge) as caught:
            await vault.set("t1", "large", CANARY * 10_000)
        assert CANARY not in "".join(traceback.format_exception_only(caught.value))
        await store.close()

    asyncio.run(main())
    assert (tmp_path / "store.db").stat().st_mode & 0o077 == 0
    for path in tmp_path.iterdir():
        assert CANARY.encode() not in path.read_bytes()
        assert b"m" * 32 not in path.read_bytes()


def test_a_sealed_value_opens_under_its_own_name_and_tenant_only() -> None:
    async def scenario(vault: Vault, store: MemoryStore) -> None:
        await vault.set("t1", "a", "1")
        await vault.set("t2", "a", "2")
        sealed = await store.secret("t1", "a")
        assert sealed is not None
        await store.write("t1", [PutSecret("b", sealed, AT)])
        await store.write("t2", [PutSecret("a", sealed, AT)])
        flipped = bytes([*sealed[:-1], sealed[-1] ^ 1])
        await store.write("t1", [PutSecret("c", flipped, AT), PutSecret("d", sealed[:20], AT)])
        for owner, name in (("t1", "b"), ("t2", "a"), ("t1", "c"), ("t1", "d")):
            with pytest.raises(Internal, match="does not open"):
                await vault.get(owner, name)

    with_vault(scenario)


def test_rotation_seals_everything_anew_and_loses_nothing() -> None:
    async def scenario(vault: Vault, store: MemoryStore) -> None:
        for n in range(5):
            await vault.set("t1", f"n{n}", f"v{n}", "s1" if n % 2 else "")
        before = [await store.secret("t1", f"n{n}", "s1" if n % 2 else "") for n in range(5)]
        assert await vault.rotate("t1") == 5 and await vault.rotate("t2") == 0
        after = [await store.secret("t1", f"n{n}", "s1" if n % 2 else "") for n in range(5)]
        assert not set(before) & set(after) and len(await store.keys("t1")) == 2
        for n in range(5):
            found = await vault.get("t1", f"n{n}", "s1" if n % 2 else "")
            assert found is not None and found.reveal() == f"v{n}"

    with_vault(scenario)


def test_a_value_set_during_rotation_is_not_overwritten_with_the_old_one() -> None:
    class Interrupting(MemoryStore):
        vault: Vault
        armed = False

        async def secret(self, tenant: str, name: str, session_id: str = "") -> bytes | None:
            found = await super().secret(tenant, name, session_id)
            if self.armed:
                self.armed = False
                await self.vault.set(tenant, name, "new")
            return found

    async def main() -> None:
        store = Interrupting()
        await store.write("t1", [PutTenant(tenant("t1"))])
        store.vault = vault = Vault(store, KEYS, now_ms)
        await vault.set("t1", "a", "old")
        store.armed = True
        assert await vault.rotate("t1") == 1
        found = await vault.get("t1", "a")
        assert found is not None and found.reveal() == "new"

    asyncio.run(main())


def test_after_a_rewrap_the_old_master_key_is_not_needed_any_more() -> None:
    async def scenario(vault: Vault, store: MemoryStore) -> None:
        await vault.set("t1", "a", "1")
        both = KEYS.add_key("2", b"n" * 32)
        with pytest.raises(GatewayError):
            await Vault(store, Keys.of(b"n" * 32, "2"), now_ms).get("t1", "a")
        assert await Vault(store, both, now_ms).rewrap("t1") == 1
        found = await Vault(store, Keys.of(b"n" * 32, "2"), now_ms).get("t1", "a")
        assert found is not None and found.reveal() == "1"
        with pytest.raises(GatewayError):
            await Vault(store, KEYS, now_ms).get("t1", "a")

    with_vault(scenario)


def test_many_first_secrets_at_once_share_one_data_key() -> None:
    async def scenario(vault: Vault, store: MemoryStore) -> None:
        await asyncio.gather(*(vault.set("t1", f"n{n}", str(n)) for n in range(10)))
        assert len(await store.keys("t1")) == 1
        for n in range(10):
            found = await vault.get("t1", f"n{n}")
            assert found is not None and found.reveal() == str(n)

    with_vault(scenario)


def test_a_key_service_sees_data_keys_and_no_secret() -> None:
    class Service(LocalMasterKey):
        def __init__(self) -> None:
            super().__init__(KEYS)
            self.seen: list[bytes] = []

        async def wrap(self, tenant: str, key: bytes) -> bytes:
            self.seen.append(key)
            return await super().wrap(tenant, key)

    async def main() -> None:
        store, service = MemoryStore(), Service()
        await store.write("t1", [PutTenant(tenant("t1"))])
        vault = Vault(store, service, now_ms)
        await vault.set("t1", "a", CANARY)
        found = await Vault(store, Service(), now_ms).get("t1", "a")
        assert found is not None and found.reveal() == CANARY
        assert len(service.seen) == 1 and len(service.seen[0]) == 32

    asyncio.run(main())


def test_hooks_and_runners_get_values_through_their_own_door() -> None:
    class Reference:
        id = "a"

    async def scenario(vault: Vault, store: MemoryStore) -> None:
        await vault.set("t1", "a", b"\xff\x00")
        door = vault.find_signing_keys("t1")
        assert await door.key("a") == b"\xff\x00" and await door.key("z") is None
        assert await door.resolve(Reference()) == b"\xff\x00"
        with pytest.raises(NotFound):
            await vault.find_signing_keys("t2").resolve(Reference())

    with_vault(scenario)


@pytest.mark.parametrize("name", ["", "x" * 256, "a\0b"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    async def scenario(vault: Vault, store: MemoryStore) -> None:
        with pytest.raises(BadRequest):
            await vault.set("t1", name, "x")

    with_vault(scenario)


def test_master_keys_come_from_a_file_or_the_environment(tmp_path: Path) -> None:
    other = Keys.of(b"c" * 32, "3")

    async def main() -> None:
        path = tmp_path / "keys"
        wrapped = await choose_master(local_keys(path), {}).wrap("t1", b"k" * 32)
        rotate_local_keys(path)
        assert await choose_master(local_keys(path), {}).unwrap("t1", wrapped) == b"k" * 32
        wrapped = await choose_master(other, {MASTER_VARIABLE: (b"a" * 32).hex()}).wrap("t1", b"k" * 32)
        two = f"1:{(b'a' * 32).hex()}, 2:{(b'b' * 32).hex()}"
        assert await choose_master(other, {MASTER_VARIABLE: two}).unwrap("t1", wrapped) == b"k" * 32

    asyncio.run(main())
    for bad in (",", "zz", "ab", "1:"):
        with pytest.raises(SetupError) as caught:
            choose_master(other, {MASTER_VARIABLE: bad})
        assert "zz" not in str(caught.value)


def test_a_master_key_of_the_environment_opens_what_the_folders_wrapped_and_wraps_anew() -> None:
    async def scenario(vault: Vault, store: MemoryStore) -> None:
        await vault.set("t1", "name", CANARY)
        environment = {MASTER_VARIABLE: (b"e" * 32).hex()}
        moved = Vault(store, choose_master(KEYS, environment), now_ms)
        found = await moved.get("t1", "name")
        assert found is not None and found.reveal() == CANARY
        await moved.rewrap("t1")
        alone = Vault(store, choose_master(Keys.of(b"x" * 32), environment), now_ms)
        found = await alone.get("t1", "name")
        assert found is not None and found.reveal() == CANARY
        with pytest.raises(Internal):
            await Vault(store, choose_master(KEYS, {}), now_ms).get("t1", "name")

    with_vault(scenario)


def test_the_command_rotates_data_keys_and_the_master_key_and_shows_no_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def prepare() -> None:
        store = await SqliteStore.open(tmp_path / "hatchway.db")
        for name in ("t1", "t2"):
            await store.write(name, [PutTenant(tenant(name)), put_session(of=name)])
            vault = Vault(store, local_keys(tmp_path / "keys"), now_ms)
            await vault.set(name, "a", CANARY)
            await vault.set(name, "b", CANARY, "s1")
        await store.close()

    async def read(keys: Keys) -> list[str]:
        store = await SqliteStore.open(tmp_path / "hatchway.db")
        found = [await Vault(store, keys, now_ms).get(name, "b", "s1") for name in ("t1", "t2")]
        assert [len(await store.keys(name)) for name in ("t1", "t2")] == [3, 2]
        audited = [(one.kind, one.actor) for one in await store.audit("t2")][2:]
        who = f"{getpass.getuser()} at the command line"
        assert audited == [("secret.rotate", who), ("secret.rewrap", who)]
        await store.close()
        return [one.reveal() if one else "" for one in found]

    asyncio.run(prepare())
    before = (tmp_path / "keys").read_text().splitlines()
    assert main(["secrets", "rotate", "--data", str(tmp_path), "--tenant", "t1"]) == 0
    assert main(["secrets", "rotate", "--data", str(tmp_path), "--new-master"]) == 0
    assert main(["secrets", "rotate", "--data", str(tmp_path), "--tenant", "nobody"]) == 2
    said = capsys.readouterr()
    assert "t1: 2 secrets sealed again, 2 data keys wrapped" in said.out and CANARY not in said.out + said.err
    lines = (tmp_path / "keys").read_text().splitlines()
    assert lines[:-1] == before
    newest = lines[-1].split()
    assert asyncio.run(read(Keys.of(bytes.fromhex(newest[1]), newest[0]))) == [CANARY, CANARY]


def test_tm_store_keys_a_store_whose_keys_are_gone_is_not_served_with_new_ones(tmp_path: Path) -> None:
    async def serve() -> None:
        service = await Service.open(Configuration(data=str(tmp_path), workers="in-process", access_log=False))
        await service.issue_first_token()
        await service.stop(0)

    asyncio.run(serve())
    keys = tmp_path / "keys"
    backup = keys.read_bytes()
    keys.unlink()
    for _ in range(2):
        with pytest.raises(SetupError, match="bring the file back"):
            asyncio.run(serve())
        assert not keys.exists()
    keys.write_bytes(backup)
    keys.chmod(0o600)
    asyncio.run(serve())
