"""Locks of databases: connections of one program share one as SQLite has it, and programs that it starts respect them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hatchway import Sandbox
from sandbox.engine.memory import GuestMemory
from sandbox.guests.sqlite import use_locks

LIMITS = {"wall_ms": 60_000, "cpu_ms": 60_000}
MADE = """
import os, sqlite3, subprocess
def ask(connection, sql):
    try: return connection.execute(sql).fetchall()
    except sqlite3.OperationalError as error: return str(error)
first, second = sqlite3.connect("x.db"), sqlite3.connect("x.db", timeout=0)
first.executescript("create table t (a); insert into t values (1), (2)")
"""
INSERT = "sqlite3 x.db 'insert into t values (3)'; echo $?"


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Sandbox(limits=LIMITS) as box:
        box.run(MADE).check()
        yield box


def test_a_second_connection_reads_while_the_first_does(box: Sandbox) -> None:
    code = "reading = first.execute('select a from t')\nreading.fetchone()\nask(second, 'select count(*) from t')"
    assert box.run(code).check().result == [[2]]
    assert box.run("reading.fetchall(), os.listdir('.')").check().result == [[[2]], ["x.db"]], "and no folder is left"


def test_a_second_connection_reads_what_was_there_while_the_first_writes(box: Sandbox) -> None:
    code = "first.execute('insert into t values (3)')\nbefore = ask(second, 'select count(*) from t')\nfirst.commit()\n"
    assert box.run(code + "[before, ask(second, 'select count(*) from t')]").check().result == [[[2]], [[3]]]


def test_one_connection_writes_at_a_time(box: Sandbox) -> None:
    code = "first.execute('insert into t values (3)')\nask(second, 'insert into t values (4)')"
    assert box.run(code).check().result == "database is locked"
    assert box.run("first.commit()\nask(second, 'insert into t values (4)')").check().result == []


def test_programs_that_are_started_respect_a_transaction_that_is_open(box: Sandbox) -> None:
    call = f"subprocess.run({INSERT!r}, shell=True, capture_output=True, text=True).stdout"
    assert box.run(f"first.execute('insert into t values (9)')\n{call}").check().result == "5\n"
    assert box.run(INSERT, language="shell").stdout == "5\n", "it is open in a later run too"
    with box.fork() as fork:
        assert fork.run(INSERT, language="shell").stdout == "5\n"
        assert fork.run(f"first.commit()\n{call}").check().result == "0\n"
    assert box.run("first.rollback()").error is None
    assert box.run(INSERT, language="shell").stdout == "0\n"
    assert box.run("ask(second, 'pragma integrity_check') + ask(second, 'select * from t')").result == [["ok"], [1], [2], [3]]


def test_a_lock_that_was_undone_with_its_run_is_free(box: Sandbox) -> None:
    taken = box.run("first.execute('insert into t values (9)')\nwhile True: pass", limits={"wall_ms": 1000})
    assert taken.error is not None and taken.error.code.startswith("TIMEOUT")
    assert box.run(INSERT, language="shell").stdout == "0\n"


def test_the_log_of_other_programs_is_refused_by_name(box: Sandbox) -> None:
    assert box.run("ask(first, 'pragma journal_mode = wal')").check().result == [["delete"]]


def test_memory_without_sqlite_is_left_alone() -> None:
    class Nothing(GuestMemory):
        def __init__(self) -> None: ...

        size_bytes = 64

        def read(self, address: int, length: int) -> bytes:
            return bytes(length)

    assert not use_locks(Nothing())
