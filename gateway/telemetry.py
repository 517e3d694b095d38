"""What the service says about itself: metrics for Prometheus, log lines in JSON, and spans for OpenTelemetry if wanted.

    telemetry = Telemetry(tracing="off")
    with telemetry.span("http.request", carrier=headers): ...   # the way of a request
    with step("policy.decide", event="run"): ...                # a step of it, wherever that is
    telemetry.metrics_text()

Rules: labels come from fixed sets (an operation's name, a status): a caller must not be able to make new time series. A log line
never holds a token, a body or a query. When tracing is off nothing of OpenTelemetry is imported and a span costs a function call.

Does not know: routes, tenants, what is measured elsewhere: other parts register their own metrics in `registry`.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import IO, Any, Final

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from gateway.clock import stamp

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


def stepping() -> Step:
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


class Telemetry:
    def __init__(self, *, tracing: str = "off", service: str = "hatchway") -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "hatchway_http_requests_total", "Requests answered.", ("operation", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "hatchway_http_request_seconds", "Time from head to answer.", ("operation",), buckets=_BUCKETS, registry=self.registry
        )
        self.in_flight = Gauge("hatchway_http_requests_in_flight", "Requests being answered.", registry=self.registry)
        self.streams = Gauge("hatchway_http_streams", "Open event streams and WebSockets.", registry=self.registry)
        self.connections = Gauge("hatchway_http_connections", "Open connections.", registry=self.registry)
        self.refused = Counter(
            "hatchway_http_refused_total",
            "Requests refused before their operation, by reason.",
            ("reason",),
            registry=self.registry,
        )
        self.slow_readers = Counter(
            "hatchway_http_slow_readers_total", "Streams dropped because their client did not read.", registry=self.registry
        )
        self.login_failures = Counter("hatchway_login_failures_total", "Tokens that were not accepted.", registry=self.registry)
        self.forgotten = Counter(
            "hatchway_retention_forgotten_total", "What went because it was old, by kind.", ("kind",), registry=self.registry
        )
        self._counters: dict[tuple[str, int], Counter] = {}
        self._timers: dict[str, Histogram] = {}
        self._tracer: Any = _tracer(tracing, service) if tracing != "off" else None

    def answered(self, operation: str, status: int, seconds: float) -> None:
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
        return _NOTHING if self._tracer is None else self._spanned(name, carrier, attributes)

    @contextlib.contextmanager
    def _spanned(self, name: str, carrier: Mapping[str, str] | None, attributes: Mapping[str, Any]) -> Iterator[None]:
        from opentelemetry.propagate import extract

        context = extract(carrier) if carrier else None
        with self._tracer.start_as_current_span(name, context=context, attributes=attributes):
            token = _tracer_of_request.set(self._tracer)
            try:
                yield
            finally:
                _tracer_of_request.reset(token)


def _tracer(tracing: str, service: str) -> Any:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

    exporter: SpanExporter
    if tracing == "console":
        exporter = ConsoleSpanExporter(out=sys.stderr)
    else:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # type: ignore[import-not-found,unused-ignore]

        exporter = OTLPSpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider.get_tracer(service)


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
    line = {**_line(time.time(), "info", logger, message), **fields}
    text = msgspec.json.encode(line, enc_hook=repr).decode("utf-8", "replace")
    for handler in _logger("hatchway").handlers:
        if isinstance(handler, logging.StreamHandler) and isinstance(handler.formatter, JsonLines):
            with contextlib.suppress(OSError, ValueError):  # nobody reads the log any more: serve on
                handler.stream.write(text + "\n")
                handler.stream.flush()


def log_to(stream: IO[str], level: str = "info") -> None:
    """Send the log lines of `hatchway.*` to a stream, and nowhere else."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("hatchway")
    logger.handlers = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False
