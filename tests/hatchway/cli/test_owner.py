"""`hatchway tokens`: a way back in for whoever owns the machine."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gateway.records import AuditRecord, Tenant, Token
from gateway.stores.changes import DeleteTenant, PutTenant
from gateway.stores.factory import open_store
from gateway.tenants.tokens import TOKEN, digest_of_token
from hatchway.cli.entry import build_command_parser, main


@pytest.fixture
def data(tmp_path: Path) -> str:
    """A store with the first tenant and `acme`."""

    async def make() -> None:
        store = await open_store(str(tmp_path / "data"))
        for name in ("default", "acme"):
            await store.write(name, [PutTenant(tenant=Tenant(id=name, created_at=1, updated_at=1))])
        await store.close()

    asyncio.run(make())
    return str(tmp_path / "data")


def found(data: str, text: str) -> tuple[Token | None, list[AuditRecord]]:
    """The token as the store knows it, and the audit of its tenant."""

    async def look() -> tuple[Token | None, list[AuditRecord]]:
        store = await open_store(data, create=False)
        try:
            token = await store.token(digest_of_token(text))
            return token, list(await store.audit(token.tenant)) if token is not None else []
        finally:
            await store.close()

    return asyncio.run(look())


def test_a_token_for_an_admin_is_printed_once_and_audited(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokens", "new", "--data", data]) == 0
    text = capsys.readouterr().out.strip()
    assert TOKEN.fullmatch(text)
    token, audit = found(data, text)
    assert token is not None and (token.tenant, token.role) == ("default", "admin")
    assert [(one.kind, one.subject) for one in audit] == [("token.create", token.id)]
    assert audit[0].actor.endswith("at the command line")


@pytest.mark.parametrize("is_named", [False, True])
def test_the_store_is_where_serve_keeps_it_unless_another_is_named(
    data: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    place = Path(data).rename(Path(data).parent / "hatchway-data")
    monkeypatch.chdir(place.parent if not is_named else "/")
    monkeypatch.setenv("HATCHWAY_DATA", str(place) if is_named else "")
    build_command_parser.cache_clear()  # a process has one environment
    try:
        assert main(["tokens", "new"]) == 0
    finally:
        build_command_parser.cache_clear()
    token, _ = found(str(place), capsys.readouterr().out.strip())
    assert token is not None


def test_tenant_role_and_name_can_be_chosen(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokens", "new", "--data", data, "--tenant", "acme", "--role", "member", "--name", "ci"]) == 0
    token, _ = found(data, capsys.readouterr().out.strip())
    assert token is not None and (token.tenant, token.role, token.name) == ("acme", "member", "ci")


def test_the_first_tenant_is_made_anew_if_it_was_deleted_and_no_other_is(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    async def delete() -> None:
        store = await open_store(data, create=False)
        for name in ("default", "acme"):
            await store.write(name, [DeleteTenant()])
        await store.close()

    asyncio.run(delete())
    assert main(["tokens", "new", "--data", data, "--tenant", "acme"]) == 2
    assert "tenant not found: acme" in capsys.readouterr().err
    assert main(["tokens", "new", "--data", data]) == 0
    token, audit = found(data, capsys.readouterr().out.strip())
    assert token is not None and token.tenant == "default"
    assert [one.kind for one in audit] == ["tenant.create", "token.create"]


def test_a_store_that_is_served_is_left_alone(
    data: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.stores.engines.ownership.PATIENCE_S", 0.0)

    async def main_beside() -> int:
        store = await open_store(data, create=False, own=True)
        try:
            return await asyncio.to_thread(main, ["tokens", "new", "--data", data])
        finally:
            await store.close()

    assert asyncio.run(main_beside()) == 2
    shown = capsys.readouterr()
    assert "STORE_IN_USE" in shown.err and not shown.out


def test_a_folder_without_a_store_gets_one_clear_line_and_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokens", "new", "--data", str(tmp_path / "nothing")]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ") and shown.err.splitlines()[1:] == ["hint: name the gateway's data folder with --data"]
    assert not (tmp_path / "nothing").exists()


def test_an_audit_export_of_an_absent_tenant_fails_and_leaves_no_file(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "nope.jsonl"
    assert main(["audit", "export", "--data", data, "--tenant", "nope", "-o", str(output)]) == 2
    assert "tenant not found: nope" in capsys.readouterr().err
    assert not output.exists()
