"""The command in this process: what is asked of `main`, what it wrote and its exit status. A process of its own takes half a
second to start, and is needed only where signals, descriptors or encodings are what is tested."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from hatchway.cli.entry import main


@dataclass(frozen=True, slots=True)
class Done:
    stdout: str
    stderr: str
    returncode: int


class Command:
    """`command("run", "-c", "1")`. `first` are words that always stand in front, `environment` what it always finds."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        *first: str,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._monkeypatch, self._capsys, self._first = monkeypatch, capsys, first
        self._environment = dict(environment or {})

    def __call__(self, *words: str, stdin: str | bytes = "", cwd: Path | None = None, **environment: str) -> Done:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        with self._monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
            for name, value in {**self._environment, **environment}.items():
                patch.setenv(name, value)
            if cwd is not None:
                patch.chdir(cwd)
            self._capsys.readouterr()
            try:
                status = main([*self._first, *words])
            except SystemExit as left:
                status = left.code if isinstance(left.code, int) else 1
        written = self._capsys.readouterr()
        return Done(written.out, written.err, status)
