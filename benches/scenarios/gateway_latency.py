"""The gateway over HTTP: a warm run, a new session, and how many runs a second, asked by a real client over loopback.

Beside them, in turns: the same server's trivial route, a bare Starlette route on Hypercorn (the least such a service could need)
and, with `--peers`, Jupyter Kernel Gateway, whose programs go over a WebSocket. A run goes the whole way: token, rate, policy,
hooks, a jailed worker process, the store (SQLite, synced), the audit chain, the access log. A sample of a latency is the mean of
ten calls in a row on one connection; runs a second are what eight connections get together, in as many sessions.
"""

from __future__ import annotations

from collections.abc import Callable

from benches.harness import Bench, Contender, Promise, Scenario
from benches.scenarios._gateway import Asker, Served, folder, load, served

_CALLS = 10
_SECONDS, _SECONDS_QUICK = 2.0, 1.0
_CONNECTIONS = 8
_PEER = "jupyter-kernel-gateway"


def measure(bench: Bench) -> None:
    from benches.scenarios.http_frame import _server as trivial
    from benches.sessions import ready

    why = ready("python")
    if why:
        bench.missing("warm Python run over HTTP", why)
        return
    with folder() as place, folder() as other, served(place) as jailed, served(other, "in-process") as inside:
        with trivial("bare") as bare:
            _latencies(bench, jailed, inside, f"127.0.0.1:{bare.port}")
        _rates(bench, jailed, inside)


def _latencies(bench: Bench, jailed: Served, inside: Served, bare: str) -> None:
    here, there, nothing = Asker(inside.host, inside.token), Asker(jailed.host, jailed.token), Asker(bare)
    durable = there.session(durable=True)

    def runs(asker: Asker, session: str) -> Callable[[], None]:
        def ask() -> None:
            for _ in range(_CALLS):
                asker.run(session)

        return ask

    def gets(asker: Asker, path: str) -> Callable[[], None]:
        def ask() -> None:
            for _ in range(_CALLS):
                status, _ = asker.ask("GET", path)
                if status != 200:
                    raise RuntimeError(f"{path} answered {status}")

        return ask

    def begin() -> None:
        there.run(there.session())

    contenders = [
        Contender("warm Python run over HTTP", runs(there, there.session()), calls=_CALLS),
        Contender("warm Python run over HTTP, programs in the gateway", runs(here, here.session()), calls=_CALLS),
        Contender("warm Python run over HTTP, durable session", runs(there, durable), calls=_CALLS),
        Contender("new session over HTTP", lambda: there.session()),
        Contender("new session over HTTP and its first result", begin),
        Contender("the same server's trivial route", gets(there, "/healthz"), calls=_CALLS),
        Contender("bare Starlette route on Hypercorn", gets(nothing, "/v1/nothing"), role="limit", calls=_CALLS),
    ]
    bench.interleave(*contenders, repetitions=bench.count(60, 15), warmup=5)
    if bench.peers is not None:
        _beside_peer(bench, there)
    for asker in (here, there, nothing):
        asker.close()


def _beside_peer(bench: Bench, there: Asker) -> None:
    """The same two things of Jupyter Kernel Gateway, in turns with ours; it takes its own time, as every peer does."""
    from benches.peers import PEERS

    (peer,) = (one for one in PEERS if one.name == _PEER)
    if not peer.environment.is_ready:
        bench.missing(f"{peer.title}, warm", peer.why_missing)
        return
    session = there.session()

    def runs() -> None:
        for _ in range(_CALLS):
            there.run(session)

    def ask(op: str, calls: int) -> Callable[[], float]:
        return lambda: float(bench.peers.worker(peer).ask(op=op)["ms"]) / calls

    warm, new = "warm Python run over HTTP (beside the peer)", "new session over HTTP and its first result (beside the peer)"
    bench.interleave(
        Contender(warm, runs, calls=_CALLS),
        Contender(f"{peer.title}, warm", ask("warm_call", _CALLS), role="peer", reads=True, beside=warm),
        Contender(new, lambda: there.run(there.session())),
        Contender(f"{peer.title}, new kernel to first result", ask("new_session", 1), role="peer", reads=True, beside=new),
        repetitions=bench.count(12, 4),
        warmup=1,
    )


def _rates(bench: Bench, jailed: Served, inside: Served) -> None:
    sessions = {}
    for server in (jailed, inside):
        asker = Asker(server.host, server.token)
        asker.made("PATCH", "/v1/tenants/default", {"quotas": {"requests_per_min": 10_000_000}})
        sessions[server.pid] = [asker.session() for _ in range(_CONNECTIONS)]
        for session in sessions[server.pid]:
            asker.run(session)
        asker.close()

    def rate(server: Served) -> float:
        seen = load(server, sessions[server.pid], _CONNECTIONS, _SECONDS_QUICK if bench.quick else _SECONDS)
        if seen.refused_per_s or seen.failed_per_s:
            raise RuntimeError(f"not every run was answered: {seen}")
        return seen.good_per_s

    bench.interleave(
        Contender("runs over HTTP a second", lambda: rate(jailed), unit="1/s", reads=True),
        Contender("runs over HTTP a second, programs in the gateway", lambda: rate(inside), unit="1/s", reads=True),
        repetitions=bench.count(4, 2),
        warmup=1,
    )


SCENARIOS = [
    Scenario(
        "gateway_latency",
        "a run and a new session over HTTP, the whole way",
        measure,
        parts=3,
        promises=(
            Promise("warm Python run over HTTP", 4, "ms", issue=8),
            Promise("runs over HTTP a second", 500, "1/s", "higher", issue=8),
            Promise("new session over HTTP", 10, "ms", of="new session over HTTP and its first result", issue=8),
        ),
        rounds=2,
    )
]
