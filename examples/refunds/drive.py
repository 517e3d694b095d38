"""Drives the example from end to end: `python examples/refunds/drive.py`.

It starts a gateway, deploys the policy, lets an agent's program look an order up, convert its price and ask for a refund; then it
plays the person who decides. Everything it prints is what really happened.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from hatchway import Client
from hatchway.client.requests import Ask

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import rates  # noqa: E402

PROGRAM = """
order = tools.orders_find(customer="ann")["orders"][0]
rate = tools.exchange_rate(currency="usd")
price = round(order["price_eur"] * rate["per_eur"], 2)
print(f"order {order['order']} on card {order['card']} cost {price} USD")
refund = tools.orders_refund(order=order["order"], amount=order["price_eur"])
result = {"said": f"{refund['refunded']} EUR go back", "card": order["card"]}
"""


def equipment(folder: Path, port: int) -> Path:
    """The operator's file: an MCP server and a web endpoint. This machine is allowed here by name."""
    text = f"""
allow_private = ["localhost:{port}"]
ports = [{port}]

[[servers]]
name = "orders"
command = ["{sys.executable}", "{HERE / "orders.py"}"]

[[endpoints]]
name = "exchange_rate"
url = "http://localhost:{port}/rates/{{currency}}"
input_schema = {{ type = "object", properties = {{ currency = {{ type = "string" }} }}, required = ["currency"] }}
"""
    path = folder / "equipment.toml"
    path.write_text(text)
    return path


def start(folder: Path, file: Path) -> tuple[subprocess.Popen[str], str, str]:
    command = [sys.executable, "-m", "hatchway.cli", "serve", "--data", str(folder / "data"), "--port", "0"]
    env = {**os.environ, "HATCHWAY_EQUIPMENT": str(file), "HATCHWAY_ACCESS_LOG": "false"}
    process = subprocess.Popen([*command, "--workers", "in-process"], stdout=subprocess.PIPE, text=True, env=env)
    assert process.stdout is not None
    url = re.search(r"(http\S+)", process.stdout.readline())
    token = re.search(r"(hw_\w+)", process.stdout.readline())
    assert url and token
    return process, url[1], token[1]


def main() -> int:
    server = rates.serve()
    port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        process, url, token = start(Path(name), equipment(Path(name), port))
        try:
            walk_through(url, token, port)
        finally:
            process.terminate()
            process.wait(30)
            process.stdout.close()  # type: ignore[union-attr]
            server.shutdown()
            server.server_close()
    return 0


def walk_through(url: str, token: str, port: int) -> None:
    with Client(url, token) as admin:
        admin.ask(Ask("POST", "/v1/tenants", json={"id": "shop"}))
        agent, finance = (mint(admin, role, user) for role, user in (("operator", "agent"), ("approver", "fiona")))
    with Client(url, agent) as client:
        wait_for_tools(client)
        text = (HERE / "policy.hatch").read_text().replace("8999", str(port))
        sources = {"policy.hatch": text, "hooks/redact.py": (HERE / "hooks" / "redact.py").read_text()}
        deployed = client.ask(Ask("POST", "/v1/policies", json={"sources": sources}, kind=dict))
        print("policy in force:", deployed["policy"]["name"], "v", deployed["policy"]["version"])
        box = client.sandbox(durable=True)
        waiting = box.run(PROGRAM)
        print("the program said:", waiting.stdout.strip())
        print("and now:", waiting.status.value, waiting.error.message if waiting.error else "")
        with Client(url, finance) as approver:
            (asked,) = approver.approvals()
            print("finance is asked about:", asked.capability, asked.arguments)
            approver.decide(asked.id, "approve", "the parcel never came")
        done = box.wait()
        print("after the decision:", done.result)
        denied = box.run("tools.orders_refund(order='o-1', amount=900)")
        print("and a refund of 900:", denied.status.value, "-", denied.error.message if denied.error else "")
        verdict = client.ask(Ask("GET", "/v1/audit/verify", kind=dict))
        print("the audit log has", verdict["records"], "records; whole:", not verdict["findings"])


def wait_for_tools(client: Client) -> None:
    """A gateway does not wait for MCP servers when it starts; a policy that names its tools is deployed when they are known."""
    for _ in range(600):
        if "orders_refund" in {one["name"] for one in client.ask(Ask("GET", "/v1/capabilities", kind=list))}:
            return
        time.sleep(0.1)
    raise SystemExit("the orders server did not start within a minute")


def mint(admin: Client, role: str, user: str) -> str:
    """A token for one of the shop's people."""
    body = {"name": user, "role": role, "user": user, "groups": ["finance"] if role == "approver" else []}
    headers = {"hatchway-tenant": "shop"}
    return str(admin.ask(Ask("POST", "/v1/tokens", json=body, headers=headers, kind=dict))["secret"])


if __name__ == "__main__":
    sys.exit(main())
