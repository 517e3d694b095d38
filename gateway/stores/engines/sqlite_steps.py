"""Steps on a connection of SQLite: how an operation is done, what a transaction is, which contents are in files, and what an
error means.

Rules: a row of a table that `has_files` holds its data or a reference to it (`contents`). Steps never see a reference: a content
that was placed is put as its reference, and a row is read with its content. `References.loose` says after a write which ones no
row holds any more.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from sqlalchemy.dialects import sqlite

from gateway.errors import StoreFailed, Unavailable
from gateway.stores.engines import migrations
from gateway.stores.engines.contents import Contents
from gateway.stores.engines.sql import Statements
from gateway.stores.row_operations import Clear, Delete, Get, Operation, Put, Rows, Steps, Tell
from gateway.stores.tables import TABLES

T = TypeVar("T")
Applying = Callable[[sqlite3.Connection], object]
"""What is done in a transaction."""
_WAIT_MS: Final = 10_000
_SHRINK_PAGES: Final = 4096
_STATEMENTS: Final = Statements(sqlite.dialect(paramstyle="qmark"), sqlite.insert)
_REFERENCES: Final = " UNION ALL ".join(
    f"SELECT file FROM {table.name} WHERE file IS NOT NULL" for table in TABLES if table.has_files
)


class References:
    """Of one attempt to take steps. `placed` has the references of contents by the objects' identities."""

    def __init__(self, contents: Contents | None = None, placed: Mapping[int, str] | None = None) -> None:
        self._contents, self._placed = contents, placed or {}
        self.loose = set(self._placed.values())

    def put(self, operation: Put) -> Put:
        rows = []
        for *key, data, _ in operation.rows:
            reference = self._placed.get(id(data))
            self.loose.discard(reference or "")
            rows.append((*key, data, None) if reference is None else (*key, b"", reference))
        return replace(operation, rows=rows)

    def read(self, rows: Rows) -> Rows:
        """Raises FileNotFoundError if a content has been removed since its row was read."""
        return [(*row[:-2], self._contents.read(row[-1]), None) if self._contents and row[-1] else row for row in rows]


def run(connection: sqlite3.Connection, steps: Steps[T], references: References | None = None) -> T:
    references = references or References()
    try:
        operation = next(steps)
        while True:
            operation = steps.send(_do(connection, operation, references))
    except StopIteration as stop:
        answer: T = stop.value
        return answer


def _do(connection: sqlite3.Connection, operation: Operation | Tell, references: References) -> Rows:
    if isinstance(operation, Tell):
        return []
    has_files = operation.table.has_files
    if isinstance(operation, Put):
        text, parameters = _STATEMENTS.prepare(references.put(operation) if has_files else operation)
        connection.executemany(text, parameters)
        return []
    text, parameters = _STATEMENTS.prepare(operation)
    rows = [row for each in parameters for row in connection.execute(text, each).fetchall()]
    if has_files and isinstance(operation, Get):
        return references.read(rows)
    if has_files and isinstance(operation, Delete | Clear):
        references.loose.update(row[0] for row in rows if row[0])
    return rows


def connect(path: Path, pragmas: Iterable[str]) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_WAIT_MS / 1000, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def commit(connection: sqlite3.Connection, apply: Applying) -> None:
    """In a transaction, which leaving the connection ends."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        apply(connection)


def commit_together(connection: sqlite3.Connection, group: list[Applying]) -> list[BaseException | None]:
    """Several writes in one transaction, each in a savepoint; why each failed. Raises what an engine's error does to all."""
    outcomes: list[BaseException | None] = []
    connection.execute("BEGIN IMMEDIATE")
    for apply in group:
        connection.execute("SAVEPOINT one")
        try:
            apply(connection)
            outcomes.append(None)
        except sqlite3.Error:
            raise
        except Exception as error:
            connection.execute("ROLLBACK TO one")
            outcomes.append(error)
        connection.execute("RELEASE one")
    connection.execute("COMMIT")
    return outcomes


def list_references(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute(_REFERENCES)]


def migrate(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        connection.execute(migrations.VERSION_TABLE)
        found = connection.execute("SELECT version FROM schema_version").fetchone()
        for text in migrations.plan(found[0] if found else None, _STATEMENTS.schema, postgres=False):
            connection.execute(text)


def shrink(connection: sqlite3.Connection, pages: int = _SHRINK_PAGES) -> int:
    """Give some free pages back; how many more there are that can be."""
    before: int = connection.execute("PRAGMA freelist_count").fetchone()[0]
    # A script, because this pragma frees a page for each step and `execute` makes one step.
    connection.executescript(f"PRAGMA incremental_vacuum({pages})")
    after: int = connection.execute("PRAGMA freelist_count").fetchone()[0]
    return after if after < before else 0


def empty_log(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def full() -> StoreFailed:
    return StoreFailed("STORE_FULL", "the disk is full; nothing was written", "delete something; no restart is needed")


def translate(error: BaseException) -> BaseException:
    """What a caller is told of an error of the disk or of SQLite; any other error is not ours to name."""
    if not isinstance(error, (sqlite3.Error, OSError)):
        return error
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return full()
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Unavailable("STORE_BUSY", "another process holds the store", "try again")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreFailed("STORE_CORRUPT", "the store's file is damaged", "restore it from a backup")
    return StoreFailed("STORE_IO", f"the store could not be read or written: {error}", "check the disk; no restart is needed")
