"""What the service says about itself: metrics for Prometheus, log lines in JSON, and spans for OpenTelemetry if wanted.

    with telemetry.span("http.request", carrier=headers): ...   # the way of a request
    with step("policy.decide", event="run"): ...                # a step of it, wherever that is

Rules: labels come from fixed sets (an operation's name, a status): a caller must not be able to make new time series. A log line
never holds a token, a body or a query. When tracing is off nothing of OpenTelemetry is imported and a span costs a function call.
`gateway.lifecycle.metrics` counts what comes from the store.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import IO, Any, Final, Literal, NamedTuple

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from gateway.clock import stamp
from gateway.log_stream import LogStream

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS: Final = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 2, 4, 8, 16, 32, 64, 128)
_STANDARD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_NOTHING: Final = contextlib.nullcontext()

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")
"""The id of the request being answered, for log lines that are written on its way."""


Step = Callable[..., AbstractContextManager[Any]]
_tracer_of_request: contextvars.ContextVar[Any] = contextvars.ContextVar("tracer", default=None)


def step(name: str, **attributes: Any) -> AbstractContextManager[Any]:
    """A step of the way of the request being answered: a span under the request's, if there is tracing."""
    tracer = _tracer_of_request.get()
    if tracer is None:
        return _NOTHING
    started: AbstractContextManager[Any] = tracer.start_as_current_span(name, attributes=attributes)
    return started


def keep_step() -> Step:
    """`step` for what is done later on the request's behalf, but not by its task."""
    tracer = _tracer_of_request.get()
    if tracer is None:
        return step
    from opentelemetry.context import get_current

    parent = get_current()

    def later(name: str, **attributes: Any) -> AbstractContextManager[Any]:
        started: AbstractContextManager[Any] = tracer.start_as_current_span(name, context=parent, attributes=attributes)
        return started

    return later


class Metric(NamedTuple):
    name: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    about: str


METRICS: Final = {
    metric.name: metric
    for metric in (
        Metric("hatchway_runs_total", "counter", ("language", "status"), "Runs that ended and were stored."),
        Metric("hatchway_run_seconds", "histogram", ("language",), "How long their programs ran."),
        Metric("hatchway_runs_queued", "gauge", (), "Runs that wait for a slot."),
        Metric("hatchway_runs_under_way", "gauge", (), "Runs that have a slot."),
        Metric("hatchway_sessions_live", "gauge", (), "Sessions that are in a worker process."),
        Metric("hatchway_workers_live", "gauge", (), "Worker processes that are alive, spare ones included."),
        Metric("hatchway_workers_lost_total", "counter", (), "Worker processes that were killed or died."),
        Metric("hatchway_approvals_pending", "gauge", (), "Approvals that are not decided yet."),
        Metric("hatchway_calls_total", "counter", ("status",), "Capability calls: ok, waiting, refused or failed."),
        Metric(
            "hatchway_hooks_total",
            "counter",
            ("effect",),
            "Answers of hooks: continued, rewrote, blocked, withheld, ignored, failed_open, warned or denied.",
        ),
        Metric("hatchway_http_requests_total", "counter", ("operation", "status"), "Requests answered."),
        Metric("hatchway_http_request_seconds", "histogram", ("operation",), "Time from head to answer."),
        Metric("hatchway_http_requests_in_flight", "gauge", (), "Requests being answered."),
        Metric("hatchway_http_streams", "gauge", (), "Open event streams and WebSockets."),
        Metric("hatchway_http_connections", "gauge", (), "Open connections."),
        Metric("hatchway_http_refused_total", "counter", ("reason",), "Requests refused before their operation."),
        Metric("hatchway_http_slow_readers_total", "counter", (), "Streams dropped because their client did not read."),
        Metric("hatchway_login_failures_total", "counter", (), "Tokens that were not accepted."),
        Metric("hatchway_retention_forgotten_total", "counter", ("kind",), "What retention deleted because of its age."),
    )
}
"""Every metric of the service. The table in docs/operations.md is made from it: `python -m gateway.telemetry`."""


def make_counter(name: str, registry: CollectorRegistry | None = None) -> Counter:
    return Counter(name, METRICS[name].about, METRICS[name].labels, registry=registry)


def make_gauge(name: str, registry: CollectorRegistry | None = None) -> Gauge:
    return Gauge(name, METRICS[name].about, METRICS[name].labels, registry=registry)


def make_histogram(name: str, buckets: Sequence[float], registry: CollectorRegistry | None = None) -> Histogram:
    return Histogram(name, METRICS[name].about, METRICS[name].labels, buckets=buckets, registry=registry)


def reference() -> str:
    """The table of metrics in docs/operations.md."""
    lines = ["| metric | kind | labels | what |", "|---|---|---|---|"]
    for metric in METRICS.values():
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        lines.append(f"| `{metric.name}` | {metric.kind} | {labels} | {metric.about} |")
    return "\n".join(lines) + "\n"


class Telemetry:
    def __init__(self, *, tracing: str = "off") -> None:
        self.registry = registry = CollectorRegistry()
        self._requests = make_counter("hatchway_http_requests_total", registry)
        self._seconds = make_histogram("hatchway_http_request_seconds", _BUCKETS, registry)
        self.in_flight = make_gauge("hatchway_http_requests_in_flight", registry)
        self.streams = make_gauge("hatchway_http_streams", registry)
        self.connections = make_gauge("hatchway_http_connections", registry)
        self.refused = make_counter("hatchway_http_refused_total", registry)
        self.slow_readers = make_counter("hatchway_http_slow_readers_total", registry)
        self.login_failures = make_counter("hatchway_login_failures_total", registry)
        self.forgotten = make_counter("hatchway_retention_forgotten_total", registry)
        self._counters: dict[tuple[str, int], Counter] = {}
        self._timers: dict[str, Histogram] = {}
        self._tracer: Any = _open_tracer(tracing) if tracing != "off" else None

    def count_answer(self, operation: str, status: int, seconds: float) -> None:
        counter = self._counters.get((operation, status))
        if counter is None:
            counter = self._counters[operation, status] = self._requests.labels(operation, str(status))
        counter.inc()
        timer = self._timers.get(operation)
        if timer is None:
            timer = self._timers[operation] = self._seconds.labels(operation)
        timer.observe(seconds)

    def metrics_text(self) -> bytes:
        return generate_latest(self.registry)

    def span(self, name: str, *, carrier: Mapping[str, str] | None = None, **attributes: Any) -> AbstractContextManager[Any]:
        """The way of a request, to be followed `step` by step. `carrier` holds a caller's `traceparent`, if there is one."""
        return _NOTHING if self._tracer is None else self._open_span(name, carrier, attributes)

    @contextlib.contextmanager
    def _open_span(self, name: str, carrier: Mapping[str, str] | None, attributes: Mapping[str, Any]) -> Iterator[None]:
        from opentelemetry.propagate import extract

        context = extract(carrier) if carrier else None
        with self._tracer.start_as_current_span(name, context=context, attributes=attributes):
            token = _tracer_of_request.set(self._tracer)
            try:
                yield
            finally:
                _tracer_of_request.reset(token)


def _open_tracer(tracing: str) -> Any:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

    exporter: SpanExporter
    if tracing == "console":
        exporter = ConsoleSpanExporter(out=sys.stderr)
    else:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # type: ignore[import-not-found,unused-ignore]

        exporter = OTLPSpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "hatchway"}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider.get_tracer("hatchway")


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, the request's id, and the fields given as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        line = _line(record.created, record.levelname.lower(), record.name, record.getMessage())
        for name, value in record.__dict__.items():
            if name not in _STANDARD:
                line[name] = value
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=repr).decode("utf-8", "replace")


def _line(at: float, level: str, logger: str, message: str) -> dict[str, Any]:
    line: dict[str, Any] = {
        "at": stamp(int(at * 1000)),
        "level": level,
        "logger": logger,
        "message": message,
    }
    if found := request_id.get():
        line["request_id"] = found
    return line


_logger = cache(logging.getLogger)
"""Which takes a lock to find one by its name."""


def log_line(logger: str, message: str, **fields: Any) -> None:
    """A line at level info without the way through `logging`, for what is written at every request."""
    if not _logger(logger).isEnabledFor(logging.INFO):
        return
    line = _line(time.time(), "info", logger, message) | fields
    text = msgspec.json.encode(line, enc_hook=repr).decode("utf-8", "replace")
    for handler in _logger("hatchway").handlers:
        if isinstance(handler, logging.StreamHandler) and isinstance(handler.formatter, JsonLines):
            with contextlib.suppress(OSError, ValueError):  # the log has no reader any more: serve on
                handler.stream.write(text + "\n")
                handler.stream.flush()


def _say_dropped(count: int) -> str:
    line = _line(time.time(), "warning", "hatchway.log", "log lines were dropped: the log was not read fast enough")
    return msgspec.json.encode({**line, "dropped": count}).decode() + "\n"


def log_to(stream: IO[str], level: str = "info") -> None:
    """Send the log lines of `hatchway.*` to a stream, and nowhere else; what has a descriptor is never waited for."""
    target: IO[str] | LogStream = stream
    with contextlib.suppress(OSError, AttributeError):  # what has no descriptor is written to as it is
        target = LogStream(stream.fileno(), _say_dropped)
    handler = logging.StreamHandler(target)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("hatchway")
    logger.handlers = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False


if __name__ == "__main__":
    print(reference(), end="")
