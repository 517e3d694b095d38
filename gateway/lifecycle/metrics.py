"""Metrics that come from the store and from the service's parts. Names and texts: `gateway.telemetry.METRICS`.

    store.observe(tally.note_written)                 # runs, calls, hooks, approvals: everything that was acknowledged
    tally.show(telemetry.registry)

Rules: an event is counted when it has been written, so that numbers and audit log agree; a state is read when it is scraped.
Labels come from fixed sets: a tool's own error code, a hook's name, a tenant never become one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, get_args

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from gateway.hooks.firing import Effect
from gateway.policies.gate import language_name
from gateway.records import Approval, Run
from gateway.stores.changes import AppendAudit, Change, DeleteSession, DeleteTenant, PutApproval, PutRun
from gateway.telemetry import METRICS, make_counter, make_gauge, make_histogram
from sandbox.wire import RunStatus

_SECONDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800)
_EFFECTS: Final = frozenset(get_args(Effect))
_CALLS: Final = {"ok": "ok", "approval_pending": "waiting", "PERMISSION_DENIED": "refused"}
"""How a call ended, by its status in the audit; with any other code it failed."""


class _ReadCounter(Collector):
    """A counter whose value another part of the service holds."""

    def __init__(self, name: str, read: Callable[[], float]) -> None:
        self._name, self._read = name, read

    def collect(self) -> Iterable[CounterMetricFamily]:
        return [CounterMetricFamily(self._name, METRICS[self._name].about, value=self._read())]


class Tally:
    def __init__(self) -> None:
        self._runs = make_counter("hatchway_runs_total")
        self._seconds = make_histogram("hatchway_run_seconds", _SECONDS)
        self._calls = make_counter("hatchway_calls_total")
        self._hooks = make_counter("hatchway_hooks_total")
        for status in (*_CALLS.values(), "failed"):
            self._calls.labels(status)
        for effect in _EFFECTS:
            self._hooks.labels(effect)
        self._of_runs: dict[tuple[str, RunStatus], tuple[Counter, Histogram]] = {}  # asking for labels costs more than counting
        self._asked: dict[tuple[str, str], str] = {}
        self._shown: list[Collector] = [self._runs, self._seconds, self._calls, self._hooks]
        self.gauge("hatchway_approvals_pending", lambda: len(self._asked))

    def gauge(self, name: str, read: Callable[[], float]) -> None:
        made = make_gauge(name)
        made.set_function(read)
        self._shown.append(made)

    def counter(self, name: str, read: Callable[[], float]) -> None:
        self._shown.append(_ReadCounter(name, read))

    def show(self, registry: CollectorRegistry) -> None:
        for metric in self._shown:
            registry.register(metric)

    def note_found(self, approvals: Iterable[Approval]) -> None:
        """Approvals that a start finds in the store."""
        for approval in approvals:
            self._note_approval(approval)

    def note_written(self, tenant: str, changes: Sequence[Change]) -> None:
        for change in changes:
            if isinstance(change, PutRun):
                self._note_run(change.run)
            elif isinstance(change, AppendAudit):
                self._note_record(change)
            elif isinstance(change, PutApproval):
                self._note_approval(change.approval)
            elif isinstance(change, DeleteSession):
                self._forget(tenant, change.session_id)
            elif isinstance(change, DeleteTenant):
                self._forget(tenant)

    def _note_run(self, run: Run) -> None:
        if run.state == "finished" and run.result is not None:
            language, status = language_name(run.language), run.result.status
            found = self._of_runs.get((language, status))
            if found is None:
                found = self._runs.labels(language, status.value), self._seconds.labels(language)
                self._of_runs[language, status] = found
            counter, timer = found
            counter.inc()
            timer.observe(run.result.metrics.duration_ms / 1000)

    def _note_record(self, record: AppendAudit) -> None:
        if record.kind == "call" and record.data.get("status") != "begun":
            self._calls.labels(_CALLS.get(record.data.get("status", ""), "failed")).inc()
        elif record.kind == "hook":
            effect = record.data.get("outcome", {}).get("effect")
            if effect in _EFFECTS:
                self._hooks.labels(effect).inc()

    def _note_approval(self, approval: Approval) -> None:
        key = (approval.tenant, approval.id)
        if approval.verdict is None:
            self._asked[key] = approval.session_id
        else:
            self._asked.pop(key, None)

    def _forget(self, tenant: str, session_id: str | None = None) -> None:
        gone = [key for key, of in self._asked.items() if key[0] == tenant and session_id in (None, of)]
        for key in gone:
            del self._asked[key]
