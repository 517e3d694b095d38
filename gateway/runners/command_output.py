"""What a command writes: kept up to a cap, and passed on as it comes.

Rules: stdout and stderr share the cap. What is over it is counted and dropped, never kept, so a command that writes without end
costs no memory. A listener that fails is dropped, not the command. Lives on the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable

STDOUT, STDERR = 0, 1
OnOutput = Callable[[int, bytes], None]


class Output:
    def __init__(self, limit_bytes: int, on_output: OnOutput | None = None) -> None:
        self.kept = (bytearray(), bytearray())
        self.dropped_bytes = 0
        self._dropped_bytes = [0, 0]
        self.limit_bytes = self._left = limit_bytes
        self._on_output = on_output

    @property
    def kept_bytes(self) -> int:
        return len(self.kept[STDOUT]) + len(self.kept[STDERR])

    @property
    def is_full(self) -> bool:
        return self._left <= 0

    def write(self, stream: int, data: bytes) -> None:
        # THREAT[TM-RUN-OUTPUT]: what is over the cap is dropped before it is kept or sent.
        taken = data[: self._left]
        self._left -= len(taken)
        self._drop(stream, len(data) - len(taken))
        if taken:
            self.kept[stream].extend(taken)
            self._tell(stream, bytes(taken))

    def settle(self, stream: int, data: bytes) -> None:
        """All that was written to `stream`, as its place says in the end. What came meanwhile is not passed on twice; where it
        was something else, the last word counts."""
        self._drop(stream, -self._dropped_bytes[stream])
        kept, told = self.kept[stream], self._on_output
        if not data.startswith(kept):
            self._left += len(kept)
            kept.clear()
            self._on_output = None
        self.write(stream, data[len(kept) :])
        self._on_output = told

    def _drop(self, stream: int, count: int) -> None:
        self._dropped_bytes[stream] += count
        self.dropped_bytes += count

    def _tell(self, stream: int, data: bytes) -> None:
        if self._on_output is not None:
            try:
                self._on_output(stream, data)
            except Exception:
                self._on_output = None

    def text(self, stream: int) -> str:
        return self.kept[stream].decode("utf-8", "replace")
