"""Metrics, log lines, spans."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys

from gateway.telemetry import JsonLines, Telemetry, request_id


def test_metrics_count_by_operation_and_status() -> None:
    telemetry = Telemetry()
    for _ in range(3):
        telemetry.answered("get_session", 200, 0.003)
    telemetry.answered("get_session", 404, 0.001)
    text = telemetry.metrics_text().decode()
    assert 'hatchway_http_requests_total{operation="get_session",status="200"} 3.0' in text
    assert 'hatchway_http_requests_total{operation="get_session",status="404"} 1.0' in text
    assert 'hatchway_http_request_seconds_bucket{le="0.004",operation="get_session"} 4.0' in text


def test_a_log_line_is_one_json_object_with_the_requests_id_even_if_it_holds_line_ends() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logger = logging.Logger("hatchway.test")
    logger.addHandler(handler)
    token = request_id.set("r-1")
    try:
        logger.warning("two\nlines %s", '"quoted"\x00', extra={"tenant": "acme"})
        try:
            raise ValueError("broken")
        except ValueError:
            logger.exception("failed")
    finally:
        request_id.reset(token)
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert (first["message"], first["level"]) == ('two\nlines "quoted"\x00', "warning")
    assert (first["request_id"], first["tenant"]) == ("r-1", "acme")
    assert "ValueError: broken" in second["error"]


def test_spans_cost_nothing_when_they_are_off() -> None:
    code = (
        "import sys\nfrom gateway.telemetry import Telemetry\nt = Telemetry()\n"
        "with t.span('x', carrier={'traceparent': ''}): pass\n"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_spans_are_children_of_the_callers_when_they_are_on() -> None:
    code = (
        "from gateway.telemetry import Telemetry\nfrom opentelemetry import trace\nt = Telemetry(tracing='console')\n"
        "carrier = {'traceparent': '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'}\n"
        "with t.span('outer', carrier=carrier, operation='x'):\n"
        "    with t.span('inner'):\n"
        "        print(format(trace.get_current_span().get_span_context().trace_id, '032x'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "0af7651916cd43dd8448eb211c80319c"
    assert '"name": "inner"' in done.stderr
