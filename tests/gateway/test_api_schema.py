"""The service does what its OpenAPI document says: a short run of `tests.gateway.api_campaign`."""

from __future__ import annotations

from pathlib import Path

from tests.gateway.api_campaign import campaign


def test_no_request_made_from_the_document_gets_a_server_error_or_an_answer_it_does_not_describe(tmp_path: Path) -> None:
    report = campaign(tmp_path, seconds=60, seed=20, phases="fuzzing,stateful", examples=1)
    assert not report.findings, "\n".join([*report.findings, report.text])
    assert len(report.operations) > 50, "the campaign did not come to ask much"
    assert report.statuses[200] and report.statuses[201], "nothing was ever accepted"
