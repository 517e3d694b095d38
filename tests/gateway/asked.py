"""How each operation of the API is asked for something that its path names.

Rules: an operation that names something is in `ASKED`, in `OF_RUNTIMES`, or, if what it names belongs to no tenant, in `SHARED`;
`tests.gateway.tenants.test_tenants_apart` fails for one that is in none of them.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

CANARY = f"canary{secrets.token_hex(8)}"
"""What alpha writes wherever it can, and nobody else may ever see."""
ABSENT = {
    "session_id": "alpha-nosuch",
    "waiting_id": "alpha-neither",
    "other_id": "alpha-nor-this",
    "run_id": "01a1e2f7-0000-7000-8000-00000000dead",
    "snapshot_id": "01a1e2f7-0000-7000-8000-00000000dead",
    "approval_id": "01a1e2f7-0000-7000-8000-00000000dead",
    "token_id": "01a1e2f7-0000-7000-8000-00000000dead",
    "tenant_id": "nosuch",
    "digest": "f" * 64,
    "hook_id": "user:alpha_none",
    "path": "absent.txt",
    "key": "absent-key",
    "name": "absent-name",
    "runtime_id": "embedded-worker-runtime",
    "worker_id": "worker-00000fff",
    "host_id": "alpha-nohost",
    "destination_id": "alpha-nobox",
    "thread_id": "alpha-nothread",
    "command_id": "absent-command",
    "artifact_id": "e" * 64,
    "port": "8001",
}
"""Names of what nobody has, by path parameter."""
SHARED = {"get_capability", "docs_file"}
"""What these name belongs to no tenant."""
ENDLESS = {"watch_worker", "live_worker", "api_live_worker", "live_run", "watch_runner_files", "live_command"}
"""These last as long as whoever watches."""
HEALTH = {"list_runtimes", "list_hosts", "get_runtime", "api_list_runtimes", "api_list_hosts"}
"""These say how things are, which changes by itself."""
REMOTE = "alpha-remote"
"""A runtime that alpha has added."""
LOGS = {"list_audit", "export_audit", "verify_audit", "list_decisions"}
"""These grow by being read."""


@dataclass(frozen=True)
class Asked:
    """How an operation is asked beside its path."""

    body: Any = None
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


RUN = Asked({"code": "1 + 1"})
SPAWN = {"intent": {"kind": "workspace_companion"}, "acceptance": {"kind": "run_accepted", "expected_segments": 0}}
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol": "hatchway.json",
}
ASKED: dict[str, Asked] = {
    "get_session": Asked(),
    "update_session": Asked({"title": "mine now", "repin": True}),
    "delete_session": Asked(),
    "cancel_session": Asked(),
    "fork_session": Asked({"count": 2}),
    "run_in_session": RUN,
    "get_run": Asked(),
    "cancel_run": Asked(),
    "watch_run": Asked(),
    "live_run": Asked(headers=UPGRADE),
    "list_files": Asked(),
    "get_file": Asked(),
    "put_file": Asked(b"theirs"),
    "delete_file": Asked(query={"recursive": "true"}),
    "stat_file": Asked(query={"path": "/workspace/kept.txt"}),
    "read_file": Asked(query={"path": "/workspace/kept.txt"}),
    "seed_file": Asked({"path": "/workspace/kept.txt", "content": "theirs"}),
    "chmod_file": Asked({"path": "/workspace/kept.txt", "mode": 0o600}),
    "make_directory": Asked({"path": "/workspace/theirs"}),
    "grep_files": Asked(query={"pattern": CANARY}),
    "search_files": Asked(query={"pattern": "canary[0-9a-f]+"}),
    "export_files": Asked(),
    "import_files": Asked(b"\0" * 1024, headers={"Content-Type": "application/x-tar"}),
    "list_values": Asked(),
    "get_value": Asked(),
    "put_value": Asked(b"theirs"),
    "delete_value": Asked(),
    "put_secret": Asked({"value": "theirs"}),
    "delete_secret": Asked(),
    "list_session_secrets": Asked(),
    "put_session_secret": Asked({"value": "theirs"}),
    "delete_session_secret": Asked(),
    "take_snapshot": Asked({"label": "theirs"}),
    "get_snapshot": Asked(),
    "export_snapshot": Asked(),
    "diff_snapshots": Asked(query={"new": ABSENT["snapshot_id"]}),
    "restore_snapshot": Asked({}),
    "delete_snapshot": Asked(),
    "get_approval": Asked(),
    "decide_approval": Asked({"decision": "approve"}),
    "decide_tool_approval": Asked({"approval_id": ABSENT["approval_id"], "decision": "approve"}),
    "delete_hook": Asked(),
    "put_program": Asked(b"echo theirs"),
    "get_program": Asked(),
    "delete_program": Asked(),
    "get_policy": Asked(),
    "get_tenant": Asked(),
    "update_tenant": Asked({"name": "theirs"}),
    "delete_tenant": Asked(),
    "get_usage": Asked(),
    "revoke_token": Asked(),
    "list_host_workers": Asked(),
    "api_list_host_workers": Asked(),
    **{
        before + name: asked
        for before in ("", "api_")
        for name, asked in {
            "get_worker": Asked(),
            "send_worker_input": Asked({"content": "1"}),
            "get_worker_transcript": Asked(),
            "stop_worker": Asked({"mode": "force"}),
            "cancel_worker": Asked({}),
            "live_worker": Asked(headers=UPGRADE),
        }.items()
    },
    "restore_worker": Asked({}),
    "delete_worker": Asked(),
    "watch_worker": Asked(),
    "remove_destination": Asked(),
    "select_runner": Asked({"destination_id": "alpha-box"}),
    "get_runner_session": Asked(),
    "delete_runner_session": Asked(),
    "snapshot_runner_session": Asked(),
    "list_runner_ports": Asked(),
    "expose_runner_port": Asked({"port": 8000}),
    "withdraw_runner_port": Asked(),
    "pause_runner_session": Asked(),
    "resume_runner_session": Asked(),
    "detach_runner_session": Asked(),
    "rejoin_runner_session": Asked(),
    "stop_runner_session": Asked(),
    "restore_runner_session": Asked({"snapshot_id": "0" * 64}),
    "fork_runner_session": Asked({"new_thread_id": "theirs"}),
    "list_runner_files": Asked(query={"path": "."}),
    "delete_runner_file": Asked(query={"path": "kept.txt"}),
    "make_runner_directory": Asked({"path": "theirs"}),
    "move_runner_file": Asked({"path": "kept.txt", "target": "theirs"}),
    "run_command": Asked({"command_id": "theirs", "program": "sh", "args": ["-c", "cat kept.txt"]}),
    "wait_for_command": Asked(),
    "cancel_command": Asked(),
    "read_runner_file": Asked(query={"path": "kept.txt"}),
    "write_runner_file": Asked(b"theirs", query={"path": "kept.txt"}),
    "export_artifact": Asked({"path": "kept.txt"}),
    "get_artifact": Asked(),
    "check_stored_snapshot": Asked(),
    "keep_runner_session_alive": Asked({"ttl_ms": 60_000}),
    "list_commands": Asked(),
    "get_command_log": Asked(),
    "signal_command": Asked({"signal": "TERM"}),
    "write_to_command": Asked({"data": "x"}),
    "live_command": Asked(headers=UPGRADE),
    "list_artifacts": Asked(),
    "delete_artifact": Asked(),
    "stat_runner_file": Asked(query={"path": "kept.txt"}),
    "search_runner_files": Asked(query={"pattern": CANARY}),
    "watch_runner_files": Asked(query={"path": "."}),
    "export_runner_files": Asked(query={"path": "."}),
    "import_runner_files": Asked(b"\0" * 1024, headers={"Content-Type": "application/x-tar"}),
}
OF_RUNTIMES: dict[str, Asked] = {
    "get_runtime": Asked(),
    "remove_runtime": Asked(),
    "test_runtime": Asked(),
    "list_runtime_workers": Asked(),
    "api_list_runtime_workers": Asked(),
    "spawn_worker": Asked(SPAWN),
    "api_spawn_worker": Asked(SPAWN),
}
"""Operations on a runtime as a whole. Everybody has the embedded one, so they are asked for one that alpha has added."""
