"""The service does what its OpenAPI document says: a short run of `tests.gateway.api_campaign`."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.gateway.api_campaign import campaign
from tests.gateway.serving import Gateway, serving


def test_no_request_made_from_the_document_gets_a_server_error_or_an_answer_it_does_not_describe(tmp_path: Path) -> None:
    report = campaign(tmp_path, seconds=60, seed=20, phases="fuzzing,stateful", examples=1)
    assert not report.findings, "\n".join([*report.findings, report.text])
    assert len(report.operations) > 50, "the campaign did not come to ask much"
    assert report.statuses[200] and report.statuses[201], "nothing was ever accepted"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with serving(tmp_path_factory.mktemp("served") / "data") as running:
        yield running


@pytest.mark.parametrize(("target", "status"), [("/v1/runs/%0A", 400), ("/%0A", 400), ("/v1/files?path=" + "a" * 50_000, 431)])
def test_a_target_that_cannot_be_routed_gets_a_problem_too(gateway: Gateway, target: str, status: int) -> None:
    connection = http.client.HTTPConnection(urlsplit(gateway.url).netloc, timeout=60)
    connection.request("GET", target, headers={"Authorization": f"Bearer {gateway.token}"})
    answer = connection.getresponse()
    body = json.load(answer)
    connection.close()
    assert (answer.status, answer.headers["content-type"], body["status"]) == (status, "application/problem+json", status)
