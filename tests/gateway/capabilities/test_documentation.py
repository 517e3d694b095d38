"""The operator's manual says what is there: the equipment file, the metrics, the quotas."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gateway.capabilities.endpoints import EndpointSpec, check_spec
from gateway.capabilities.mcp_connections import connect_to
from gateway.capabilities.mcp_servers import ServerSpec
from gateway.capabilities.operator_sources import Equipment, load_equipment, make_egress
from gateway.hooks.firing import Effect
from gateway.records import Quotas
from gateway.service import Service
from gateway.stores.engines.memory import MemoryStore
from gateway.telemetry import Telemetry
from sandbox.encoding.sealing import Keys
from sandbox.workers.local.worker import LocalWorkers

DOCS = Path(__file__).parents[3] / "docs"


def section(page: str, heading: str) -> str:
    """A section of a page, up to the next of its kind."""
    return (DOCS / page).read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


@pytest.fixture
def example(tmp_path: Path) -> Equipment:
    """The manual's equipment file, as a service would read it."""
    found = re.search(r"```toml\n(.*?)```", section("capabilities.md", "The equipment file"), re.DOTALL)
    assert found is not None
    path = tmp_path / "equipment.toml"
    path.write_text(found[1])
    return load_equipment(str(path))


def test_the_equipment_file_in_the_manual_is_one_that_a_service_takes(example: Equipment) -> None:
    egress = make_egress(example)
    for endpoint in example.endpoints:
        check_spec(endpoint)
    for server in example.servers:
        connect_to(server, egress)
    assert (len(example.endpoints), len(example.servers)) == (2, 2)
    assert example.ports == (80, 443, 8443)
    assert "billing.internal:8080" in example.allow_private


@pytest.mark.parametrize("kind", [Equipment, EndpointSpec, ServerSpec])
def test_every_field_of_the_equipment_file_is_in_the_manual_with_what_it_means(kind: type) -> None:
    text = section("capabilities.md", "The equipment file")
    rows = "\n".join(line.partition("|")[2].partition("|")[0] for line in text.splitlines() if line.startswith("|"))
    for name in kind.__struct_fields__:  # type: ignore[attr-defined]
        assert f"`{name}`" in rows or f"`[[{name}]]`" in rows, name


def test_every_metric_and_effect_is_in_the_manual_and_no_other() -> None:
    telemetry = Telemetry()
    Service(MemoryStore(), LocalWorkers(), Keys.of(bytes(32))).tally.show(telemetry.registry)
    text = telemetry.metrics_text().decode()
    kinds = dict(re.findall(r"^# TYPE (\S+) (counter|gauge|histogram)$", text, re.MULTILINE))
    shown = {name for name in kinds if not name.endswith("_created")}
    page = section("operations.md", "Metrics")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `hatchway_")]
    told = {name: row[2].strip() for row in rows for name in re.findall(r"`(hatchway_\w+)`", row[1])}
    assert told == {name: kinds[name] for name in shown}
    assert all(re.search(rf"\b{effect}\b", page) for effect in Effect.__args__)  # type: ignore[attr-defined]


def test_every_quota_is_in_the_manual_with_its_default() -> None:
    page = section("operations.md", "Tenants")
    defaults = Quotas()
    for name in Quotas.__struct_fields__:
        value = getattr(defaults, name)
        told = "1 GiB" if value == 1 << 30 else f"{value:,}"
        assert f"| `{name}` | {told} |" in page, name
