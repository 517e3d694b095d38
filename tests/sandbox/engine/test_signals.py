"""Signals while a guest runs on the main thread: Ctrl-C ends the run, and nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sandbox.engine.signals import shelter

INTERRUPTED = """
import os, signal, sys, threading
import hatchway

def on_alarm(number, frame):
    raise TimeoutError

signal.signal(signal.SIGALRM, on_alarm)
codes = {
    "loop": "print(1, flush=True)\\nwhile True: pass",
    "clock": "print(1, flush=True)\\nimport time\\nwhile True: time.time()",
    "files": "print(1, flush=True)\\nimport os\\nwhile True: os.stat('/')",
    "sleep": "print(1, flush=True)\\nimport time\\ntime.sleep(100)",
}
seen = set()
with hatchway.Sandbox(limits={"cpu_ms": 60000, "wall_ms": 60000}) as box:
    box.run("x = 1")
    for round in range(6):
        for name, code in codes.items():
            for number in (signal.SIGINT, signal.SIGALRM):
                started = threading.Event()
                sender = threading.Thread(target=lambda: started.wait() and os.kill(os.getpid(), number))
                sender.start()
                try:
                    seen.add(box.run("x = 2\\n" + code, on_output=lambda *_: started.set()).status.value)
                except (KeyboardInterrupt, TimeoutError) as error:
                    seen.add(type(error).__name__)
                sender.join()
    handlers = signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.getsignal(signal.SIGALRM) is on_alarm
    print(sorted(seen), box.run("x").result, handlers)
"""


def test_tm_iso_callback_signals_that_raise_end_the_run_and_leave_session_and_process_whole() -> None:
    """In a process of its own: what this guards against ends it without a word."""
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stdout) == (0, "['KeyboardInterrupt', 'TimeoutError'] 1 (True, True)\n"), ended.stderr


def test_signal_is_delivered_when_the_guest_is_left_and_its_handler_is_back() -> None:
    import signal

    heard: list[int] = []
    stopped: list[bool] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: heard.append(number))
    try:
        with shelter(lambda: stopped.append(True)):
            signal.raise_signal(signal.SIGUSR1)
            assert (heard, stopped) == ([], [True])
        assert heard == [signal.SIGUSR1]
        signal.raise_signal(signal.SIGUSR1)
        assert len(heard) == 2
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_error_of_the_guest_is_not_lost_when_no_signal_came() -> None:
    with pytest.raises(LookupError), shelter(lambda: None):
        raise LookupError
