"""Records are described before threads decode them: two that decode one for the first time at once would end the process."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest


def _exit(program: str) -> tuple[int, str]:
    """How a process of its own ends: its status, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_threads_that_decode_a_described_record_for_the_first_time_at_once_both_get_it() -> None:
    program = """
        import threading
        import msgspec
        from sandbox.workers.warm_decoders import describe_records

        is_first, other = threading.Event(), threading.Event()

        def described_slowly():
            if threading.current_thread() is not threading.main_thread():
                is_first.set()
                other.wait(10)
            return int

        class Inner(msgspec.Struct):
            number: "described_slowly()"

        class Outer(msgspec.Struct):
            inner: Inner

        def decode():
            assert msgspec.convert({"inner": {"number": 1}}, Outer).inner.number == 1
            is_first.set()

        describe_records()
        first = threading.Thread(target=decode)
        first.start()
        is_first.wait()
        decode()
        other.set()
        first.join()
        print("both")
    """
    assert _exit(program) == (0, "both\n")


def test_the_zygote_describes_every_record_of_the_sandbox_before_it_forks() -> None:
    program = """
        from sandbox.guests.images import images
        from sandbox.workers.zygote import load
        from tests.sandbox.workers.undescribed import undescribed

        load(images)
        print(undescribed())
    """
    assert _exit(program) == (0, "[]\n")


@pytest.mark.parametrize("pool", ["local.worker.LocalWorkers", "process_pool.ProcessWorkers"])
def test_whoever_makes_a_pool_may_decode_its_own_records_on_threads(pool: str) -> None:
    module, name = pool.rsplit(".", 1)
    program = f"""
        import msgspec
        from sandbox.workers.{module} import {name}
        from tests.sandbox.workers.undescribed import undescribed

        class Before(msgspec.Struct):
            number: int

        {name}()

        class After(msgspec.Struct):
            number: int

        print(undescribed())
    """
    assert _exit(program) == (0, "['After']\n")


def test_a_record_that_cannot_be_decoded_keeps_no_other_from_being_described() -> None:
    program = """
        import msgspec
        from sandbox.workers.warm_decoders import describe_records
        from tests.sandbox.workers.undescribed import undescribed

        class Unknown(msgspec.Struct):
            what: "a_name_that_is_only_there_for_type_checkers"

        class Known(msgspec.Struct):
            number: int

        describe_records()
        print(undescribed())
    """
    assert _exit(program) == (0, "['Unknown']\n")
