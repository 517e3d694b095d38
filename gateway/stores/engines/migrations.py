"""Migrations: how a store of an older version becomes one of this version, without loss.

Rules: steps go forward only, one version at a time, all in one transaction. A new store is made at the current version at
once. A store of a newer version than ours is refused and not touched. A step is SQL of its time: it does not use `tables`,
which describes today's.

Versions: 1, the first. 2, approvals have a column for when they expire, so that a sweep finds those that are due. 3, unfinished
runs, saved snapshots, and templates are found without reading all the others: a start and a new session take as
long in an old store as in a new one. 4, audit records are charged to their tenant. 5, files have permissions. 6, contents may
be in files of their own. 7, a PostgreSQL store knows which gateways share it and which of them owns a tenant (`FLEET`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gateway.errors import StoreFailed
from gateway.stores.tables import VERSION

VERSION_TABLE: Final = "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)"


FLEET: Final = (
    'CREATE TABLE owners (tenant TEXT COLLATE "C" PRIMARY KEY, gateway TEXT NOT NULL, epoch BIGINT NOT NULL)',
    "CREATE INDEX owners_by_gateway ON owners (gateway)",
    "CREATE TABLE members (id TEXT PRIMARY KEY, address TEXT NOT NULL, until TIMESTAMPTZ NOT NULL)",
    "CREATE TABLE agreements (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
)
"""Of PostgreSQL only: embedded stores have one gateway. These rows are no tenant's, and stay when a tenant is deleted: an epoch
that began again would let a late write through."""


def _steps(integer: str, text: str, field: Callable[[str], str], fleet: tuple[str, ...] = ()) -> dict[int, tuple[str, ...]]:
    """By version. `field` is SQL for what the record in a row's body says; the rest are names of types."""
    return {
        2: (
            f"ALTER TABLE approvals ADD COLUMN expires_at {integer} NOT NULL DEFAULT 0",
            f"UPDATE approvals SET expires_at = CAST({field('expires_at')} AS {integer})",
            "CREATE INDEX approvals_by_expires_at ON approvals (tenant, expires_at, id)",
        ),
        3: (
            f"ALTER TABLE runs ADD COLUMN unfinished {integer} NOT NULL DEFAULT 0",
            f"UPDATE runs SET unfinished = 1 WHERE {field('state')} <> 'finished'",
            f"ALTER TABLE snapshots ADD COLUMN kept {integer} NOT NULL DEFAULT 0",
            f"ALTER TABLE snapshots ADD COLUMN template {text} NOT NULL DEFAULT ''",
            f"UPDATE snapshots SET kept = 1 WHERE {field('kind')} IN ('saved', 'template')",
            f"UPDATE snapshots SET template = {field('label')} WHERE {field('kind')} = 'template'",
            "CREATE INDEX runs_by_unfinished ON runs (tenant, unfinished, id)",
            "CREATE INDEX snapshots_by_kept_created_at ON snapshots (tenant, kept, created_at, id)",
            "CREATE INDEX snapshots_by_template_created_at ON snapshots (tenant, template, created_at, id)",
        ),
        4: (
            "UPDATE tenants SET bytes = bytes + "
            "(SELECT COALESCE(SUM(LENGTH(body)), 0) FROM audit WHERE audit.tenant = tenants.tenant)",
        ),
        5: (f"ALTER TABLE files ADD COLUMN mode {integer}",),
        6: (
            f"ALTER TABLE blobs ADD COLUMN file {text}",
            f"ALTER TABLE packs ADD COLUMN file {text}",
            "CREATE INDEX blobs_by_file ON blobs (file) WHERE file IS NOT NULL",
            "CREATE INDEX packs_by_file ON packs (file) WHERE file IS NOT NULL",
        ),
        7: fleet,
    }


_SQLITE: Final = _steps("INTEGER", "TEXT", "json_extract(CAST(body AS TEXT), '$.{}')".format)
_POSTGRES: Final = _steps("BIGINT", 'TEXT COLLATE "C"', "(convert_from(body, 'UTF8')::json ->> '{}')".format, FLEET)


def plan(version: int | None, schema: list[str], *, postgres: bool) -> list[str]:
    """The statements that lead from a version (None: an empty database) to ours."""
    if version is None:
        return [*schema, *(FLEET if postgres else ()), f"INSERT INTO schema_version (version) VALUES ({VERSION})"]
    if version > VERSION:
        raise StoreFailed(
            "STORE_VERSION", f"the store has version {version}, this program knows {VERSION}", "use a newer release of Hatchway"
        )
    if version == VERSION:
        return []
    steps = _POSTGRES if postgres else _SQLITE
    found = [text for step in range(version + 1, VERSION + 1) for text in steps[step]]
    return [*found, f"UPDATE schema_version SET version = {VERSION}"]
