"""What the result of a run says of itself to a reader: one property to test, an exception to raise, a line and a page to look at.

Does not know: the wire types, which inherit from `ResultView`.
"""

from __future__ import annotations

import base64
import html
import json
from typing import TYPE_CHECKING, Any, Final, Self

_SHOWN: Final = 80
_STDERR_LINES: Final = 20
_IMAGES: Final = ("image/png", "image/jpeg")


class RunFailed(Exception):
    """Raised by `RunResult.check`. `result` is the whole of it."""

    def __init__(self, result: Any, message: str) -> None:
        super().__init__(message)
        self.result = result


class ResultView:
    __slots__ = ()
    if TYPE_CHECKING:
        status: Any
        result: Any
        stdout: str
        stderr: str
        error: Any
        exit_code: int
        displays: list[Any]

    @property
    def stdout_bytes(self) -> bytes:
        """What the program wrote, byte for byte."""
        return self._read_bytes("stdout")

    @property
    def stderr_bytes(self) -> bytes:
        return self._read_bytes("stderr")

    def _read_bytes(self, stream: str) -> bytes:
        encoded = getattr(self, f"{stream}_base64")
        return base64.b64decode(encoded) if isinstance(encoded, str) else getattr(self, stream).encode()

    @property
    def ok(self) -> bool:
        """Did it end well: status `ok` and exit status 0? `exit 5`, `sys.exit(3)` and `set -e` did not."""
        return bool(self.status == "ok" and self.exit_code == 0)

    def check(self) -> Self:
        """The result itself, or `RunFailed`, which says what happened, where, and what to do."""
        if self.ok:
            return self
        raise RunFailed(self, self._describe_failure())

    def _describe_failure(self) -> str:
        if self.error is None:
            told = f"the program ended with exit status {self.exit_code}"
        else:
            place = f" (line {self.error.span.line}, column {self.error.span.column})" if self.error.span else ""
            told = f"{self.status}: {self.error.message}{place} [{self.error.code}]"
            told += f"\nhint: {self.error.hint}" if self.error.hint else ""
        lines = self.stderr.strip().splitlines()
        return "\n".join([told, *(["stderr:", *lines[-_STDERR_LINES:]] if lines else [])])

    def __repr__(self) -> str:
        told = [str(self.status)]
        if self.exit_code:
            told.append(f"exit_code={self.exit_code}")
        if self.error is not None:
            told.append(f"{self.error.code}: {_cut(self.error.message)}")
        told += [f"{name}={_cut(repr(value))}" for name in ("result", "stdout", "stderr") if (value := getattr(self, name))]
        if self.displays:
            told.append(f"displays={[shown.mime for shown in self.displays]}")
        return f"<RunResult {', '.join(told)}>"

    def _repr_html_(self) -> str:
        """For notebooks. Texts of programs are escaped; HTML and pictures of theirs are shown in frames without scripts."""
        parts = [f"<b>{html.escape(str(self.status))}</b>" + (f" · exit status {self.exit_code}" if self.exit_code else "")]
        parts += [f"<pre>{html.escape(text)}</pre>" for text in (self.stdout, self.stderr) if text]
        if self.error is not None:
            parts.append(f"<pre>{html.escape(self._describe_failure())}</pre>")
        if self.result is not None:
            parts.append(f"<pre>{html.escape(json.dumps(self.result, indent=2, ensure_ascii=False))}</pre>")
        for place, shown in enumerate(self.displays):
            follows_html = place > 0 and self.displays[place - 1].mime == "text/html"
            if shown.mime in _IMAGES:
                parts.append(f'<img alt="" src="data:{shown.mime};base64,{html.escape(shown.data)}">')
            elif shown.mime == "text/html":
                parts.append(f'<iframe sandbox="" style="width:100%;border:0" srcdoc="{html.escape(shown.data)}"></iframe>')
            elif shown.mime == "text/plain" and not follows_html:
                parts.append(f"<pre>{html.escape(shown.data)}</pre>")
        return "\n".join(parts)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
