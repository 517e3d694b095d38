"""Metrics, log lines, spans."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from gateway.telemetry import JsonLines, Telemetry, request_id
from tests.gateway.serving import serving


def test_metrics_count_by_operation_and_status() -> None:
    telemetry = Telemetry()
    for _ in range(3):
        telemetry.count_answer("get_session", 200, 0.003)
    telemetry.count_answer("get_session", 404, 0.001)
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
        "from gateway.telemetry import Telemetry, step, keep_step\nfrom opentelemetry import trace\n"
        "t = Telemetry(tracing='console')\n"
        "carrier = {'traceparent': '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'}\n"
        "with t.span('outer', carrier=carrier, operation='x'):\n"
        "    with step('inner'):\n"
        "        print(format(trace.get_current_span().get_span_context().trace_id, '032x'))\n"
        "    later = keep_step()\n"
        "with later('later'):\n"
        "    print(format(trace.get_current_span().get_span_context().trace_id, '032x'))\n"
        "with step('nobodys'): pass\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["0af7651916cd43dd8448eb211c80319c"] * 2
    assert '"name": "inner"' in done.stderr and '"name": "later"' in done.stderr and "nobodys" not in done.stderr


def test_every_step_of_the_way_of_a_run_is_a_span_of_its_request(tmp_path: Path) -> None:
    with serving(tmp_path / "data", settings={"HATCHWAY_TRACING": "console"}) as gateway:
        headers = {"Authorization": f"Bearer {gateway.token}", "Content-Type": "application/json"}
        body = json.dumps({"code": "1 + 1", "language": "javascript"}).encode()
        with urllib.request.urlopen(urllib.request.Request(gateway.url + "/v1/runs", body, headers), timeout=60) as answer:
            assert answer.status == 200
        gateway.stop()
    text = (tmp_path / "data.log").read_text("utf-8")
    decoder, spans, at = json.JSONDecoder(), list[Any](), text.find("{\n")
    while at >= 0:
        span, end = decoder.raw_decode(text, at)
        spans.append(span)
        at = text.find("{\n", end)
    (request,) = [one["context"]["trace_id"] for one in spans if one["name"] == "http.request"]
    steps = {one["name"] for one in spans if one["context"]["trace_id"] == request}
    wanted = {
        "authenticate",
        "admit",
        "read body",
        "run_once",
        "session.open",
        "policy.decide",
        "hooks",
        "sandbox.run",
        "store.write",
    }
    assert wanted <= steps
