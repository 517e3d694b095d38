"""Log lines that never wait for their reader."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator

import pytest

from gateway.telemetry import log_line, log_to


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A log whose reader is up to the test: (the end to read, the end the log is written to)."""
    logger = logging.getLogger("hatchway")
    before = (logger.handlers, logger.level, logger.propagate)
    reading, writing = os.pipe()
    log_to(os.fdopen(writing, "w", closefd=False))
    yield reading, writing
    logger.handlers, logger.level, logger.propagate = before
    for end in (reading, writing):
        os.close(end)


def write_beside(count: int, text: str) -> bool:
    """Whether this many lines were written without waiting for a reader."""

    def write() -> None:
        for number in range(count):
            log_line("hatchway.test", text, number=number)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    writer.join(30)
    return not writer.is_alive()


def read_lines(reading: int, until: bytes) -> list[dict[str, object]]:
    """The lines of the log, until one says this; each must be whole. What waits is sent with the next line that is written."""
    os.set_blocking(reading, False)
    found = b""
    while until not in found or not found.endswith(b"\n"):
        try:
            found += os.read(reading, 1 << 20)
        except BlockingIOError:
            log_line("hatchway.test", "another")
    return [json.loads(line) for line in found.splitlines()]


def test_tm_http_log_a_pipe_that_is_not_read_stops_nothing_and_later_says_what_is_missing(pipe: tuple[int, int]) -> None:
    assert write_beside(5000, "x" * 200)
    lines = read_lines(pipe[0], b"dropped")
    (missing,) = [line for line in lines if "dropped" in line]
    assert missing["dropped"] == 5000 - sum("number" in line for line in lines) > 0
    assert missing["level"] == "warning"


def test_a_line_longer_than_a_pipe_takes_at_once_arrives_whole(pipe: tuple[int, int]) -> None:
    assert write_beside(1, "y" * 50_000)
    assert read_lines(pipe[0], b"y")[0]["message"] == "y" * 50_000


def test_a_log_without_a_reader_is_served_on() -> None:
    logger = logging.getLogger("hatchway")
    before = (logger.handlers, logger.level, logger.propagate)
    reading, writing = os.pipe()
    try:
        log_to(os.fdopen(writing, "w", closefd=False))
        os.close(reading)
        assert write_beside(3, "to no one")
    finally:
        logger.handlers, logger.level, logger.propagate = before
        os.close(writing)
