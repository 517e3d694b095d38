"""One tenant's floods next to another tenant's runs: what the other's slowest runs lose.

A victim asks for `1+1` a hundred times a second, alone and while another tenant floods the same gateway: with as many sleeping
runs as it may have, with as many CPU loops, with hook programs whose wasm takes seconds to compile, with uploads of 8 MiB. A
sample is the victim's p99 under the flood minus its p99 alone, taken right before it. The flood asks again at once whenever it is
answered, from a process of its own: the victim's client must not wait for the flood's. Every upload has another content. Clients,
gateway and workers share the machine's cores.
"""

from __future__ import annotations

import contextlib
import http.client
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from benches.harness import Bench, Contender, Promise, Scenario
from benches.scenarios._gateway import Asker, Served, folder, served

_FLOOD = 8
_PACE_S = 0.01
_RUNS, _RUNS_QUICK = 400, 50
_SETTLE_S = 1.0
_SLEEP = "import time; time.sleep(4)"
_LOOP = "while True: pass"
_UPLOAD_BYTES = 8 << 20
_FLOODS = ("sleeping runs", "CPU loops", "modules that are slow to compile", "uploads of 8 MiB")


def measure(bench: Bench) -> None:
    from benches.sessions import ready

    if why := ready("python"):
        bench.missing("a victim's p99 alone", why)
        return
    with folder() as place, served(place) as gateway:
        victim = _Victim(gateway)
        runs = bench.count(_RUNS, _RUNS_QUICK)
        alone_ms: list[float] = []

        def lost(flood: Callable[[Served], contextlib.AbstractContextManager[None]]) -> float:
            alone_ms.append(victim.find_p99(runs))
            with flood(gateway):
                return victim.find_p99(runs) - alone_ms[-1]

        floods = dict(zip(_FLOODS, (_sleeps, _loops, _compilations, _uploads), strict=True))
        contenders = [
            Contender(f"a victim's p99 loses to {name}", lambda flood=flood: lost(flood), reads=True)  # type: ignore[misc]
            for name, flood in floods.items()
        ]
        bench.interleave(*contenders, repetitions=bench.count(5, 2), warmup=0)
        bench.record("a victim's p99 alone", alone_ms)


class _Victim:
    def __init__(self, gateway: Served) -> None:
        self._asker = Asker(gateway.host, gateway.token)
        self._asker.made("POST", "/v1/tenants", {"id": "flood", "quotas": {"concurrent_runs": _FLOOD}})
        self._session = self._asker.session()
        for _ in range(20):
            self._asker.run(self._session)

    def find_p99(self, runs: int) -> float:
        taken_ms = []
        for _ in range(runs):
            started = time.perf_counter()
            self._asker.run(self._session)
            taken_ms.append((time.perf_counter() - started) * 1000)
            time.sleep(_PACE_S)
        return sorted(taken_ms)[int(len(taken_ms) * 0.99)]


class _FloodAsker(Asker):
    """Asks as the other tenant."""

    def __init__(self, gateway: Served) -> None:
        super().__init__(gateway.host, gateway.token)
        self._headers["Hatchway-Tenant"] = "flood"


@contextlib.contextmanager
def _flood(gateway: Served, ask: Callable[[_FloodAsker, int], None], sessions: Sequence[str] = ()) -> Iterator[None]:
    """`ask` again and again, on as many connections as the tenant may have runs. At the end the sessions are deleted, which ends
    what runs in them."""

    def work(number: int) -> None:
        asker = _FloodAsker(gateway)
        while True:
            with contextlib.suppress(http.client.HTTPException, OSError):
                ask(asker, number)

    def flood() -> None:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(_FLOOD)]
        for thread in threads:
            thread.start()

    flooding = multiprocessing.get_context("fork").Process(target=flood, daemon=True)
    flooding.start()
    time.sleep(_SETTLE_S)
    try:
        yield
    finally:
        flooding.kill()
        flooding.join()
        asker = _FloodAsker(gateway)
        for session in sessions:
            asker.ask("DELETE", session)
        asker.close()


def _repeat_runs(gateway: Served, **run: object) -> contextlib.AbstractContextManager[None]:
    asker = _FloodAsker(gateway)
    sessions = [asker.session() for _ in range(_FLOOD)]
    asker.close()
    return _flood(gateway, lambda one, number: one.ask("POST", f"{sessions[number]}/runs", run) and None, sessions)


def _sleeps(gateway: Served) -> contextlib.AbstractContextManager[None]:
    return _repeat_runs(gateway, code=_SLEEP)


def _loops(gateway: Served) -> contextlib.AbstractContextManager[None]:
    return _repeat_runs(gateway, code=_LOOP, timeout_ms=2000)


def _uploads(gateway: Served) -> contextlib.AbstractContextManager[None]:
    asker = _FloodAsker(gateway)
    session = asker.session()
    asker.close()
    rest = b"x" * _UPLOAD_BYTES

    def put(asker: _FloodAsker, number: int) -> None:
        _put(asker, f"{session}/files/{number}.txt", b"%d" % time.monotonic_ns() + rest)

    return _flood(gateway, put, [session])


def _compilations(gateway: Served) -> contextlib.AbstractContextManager[None]:
    """Modules that take a compiler seconds, each stored once."""
    import wasmtime

    stamp = time.monotonic_ns()
    modules = [bytes(wasmtime.wat2wasm(_slow_module(stamp + number))) for number in range(2 * _FLOOD)]

    def put(asker: _FloodAsker, number: int) -> None:
        _put(asker, f"/v1/hooks/programs/{number}.wasm", modules.pop() if modules else b"#")
        time.sleep(_PACE_S)

    return _flood(gateway, put)


def _put(asker: _FloodAsker, path: str, data: bytes) -> None:
    asker._connect()
    asker._http.request("PUT", path, data, {**asker._headers, "Content-Type": "application/octet-stream"})
    asker._http.getresponse().read()


def _slow_module(stamp: int) -> str:
    """Variables that every one of nested loops changes take a compiler long; the constant makes it another module."""
    count, depth = 600, 120
    inner = " ".join(f"(local.set {n} (i32.add (local.get {n}) (local.get {(n * 7 + 1) % count})))" for n in range(count))
    loops = "(loop " * depth + inner + "(br_if 0 (local.get 0)))" * depth
    body = f"(local {'i32 ' * count}) (drop (i64.const {stamp})) {loops}"
    return f'(module (memory (export "memory") 1) (func (export "_start")) (func {body}))'


SCENARIOS = [
    Scenario(
        "neighbours",
        "what floods of one tenant cost another tenant's slowest runs",
        measure,
        tuple(Promise(f"a victim's p99 loses to {name}", 5, "ms", issue=8) for name in _FLOODS),
        rounds=1,
        parts=1,
    )
]
