"""Local workers: what is seen of a directory of pods, and what is not."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gateway.clock import now_ms
from gateway.records import Principal
from gateway.registry.identifiers import make_id
from gateway.registry.local import METADATA_BYTES_MAX, LocalRuntime

ANN = Principal(tenant="acme", role="member", user="ann")
ROOT = "/home/ann/project"


def runtime(folder: Path | None) -> LocalRuntime:
    return LocalRuntime("local:test", ROOT, folder, now_ms)


def pod(folder: Path, name: str, **metadata: Any) -> Path:
    made = folder / "pods" / name
    made.mkdir(parents=True)
    body = {"worker_name": name, "workspace_root": ROOT, "active": None} | metadata
    (made / "metadata.json").write_text(json.dumps({key: value for key, value in body.items() if value != "absent"}))
    return made


def workers(folder: Path, limit: int = 200) -> Any:
    return asyncio.run(runtime(folder).workers(ANN, limit))


def test_pods_are_shown_by_name_with_the_contracts_shape(tmp_path: Path) -> None:
    pod(tmp_path, "zeta", active={"segment_id": "s1"})
    pod(tmp_path, "coder", resolved_manifest_snapshot={"role": "coder", "profile_selector": "builtin:coder"})
    pod(tmp_path, "half", active={})
    found = workers(tmp_path)
    assert [one.label for one in found.items] == ["coder", "half", "zeta"]
    assert [(one.state, one.status) for one in found.items] == [
        ("metadata_only", "metadata_only"), ("active", "active:pending_segment"), ("active", "active:segment"),
    ]  # fmt: skip
    coder = found.items[0]
    assert coder.worker_id == "local-worker-coder-c84a9e3ad144b43d"
    assert coder.host_id == "local-local-test-a2fa388634a6e2ed"
    assert (coder.role, coder.profile) == ("coder", "builtin:coder")
    assert (coder.workspace.visibility, coder.workspace.identity) == ("current_workspace", "runtime_workspace")
    assert (coder.implementation.kind, coder.implementation.display_hint) == ("local_pod", "coder")
    assert not coder.capabilities.can_accept_input and not coder.capabilities.can_stop
    assert [one.code for one in coder.diagnostics] == ["worker_actions_not_implemented"]
    assert not asyncio.run(runtime(tmp_path).summary(ANN, 1)).capabilities.can_accept_input


@pytest.mark.parametrize(
    ("snapshot", "role", "profile"),
    [
        ({"role_claim": {"role": "reviewer"}, "profile": "p"}, "reviewer", "p"),
        ({"role": {"name": "intake"}, "profile_selector": {"name": "q"}}, "intake", "q"),
        ({"role": "a/b\\c\u0007" + "x" * 200, "profile": 7}, "abc" + "x" * 77, None),
        ({"role": None, "role_claim": {"role": "r"}}, None, None),
        (["role"], None, None),
        ({"role_claim": "r"}, None, None),
    ],
)
def test_role_and_profile_are_found_where_manifests_have_them(tmp_path: Path, snapshot: Any, role: Any, profile: Any) -> None:
    pod(tmp_path, "p", resolved_manifest_snapshot=snapshot)
    shown = workers(tmp_path).items[0]
    assert (shown.role, shown.profile) == (role, profile)


@pytest.mark.parametrize(
    ("workspace", "code"),
    [
        (ROOT + "//", None),
        (ROOT.replace("/", "\\"), None),
        (ROOT + "/../project", "local_pod_workspace_not_visible"),
        ("/home/bob", "local_pod_workspace_not_visible"),
        ("absent", "local_pod_workspace_root_missing"),
        (None, "local_pod_workspace_root_missing"),
    ],
)
def test_only_workers_of_this_workspace_are_shown(tmp_path: Path, workspace: Any, code: str | None) -> None:
    pod(tmp_path, "p", workspace_root=workspace)
    found = workers(tmp_path)
    assert [one.code for one in found.diagnostics] == ([] if code is None else [code])
    assert len(found.items) == (1 if code is None else 0)


def test_a_missing_directory_is_unreadable_and_an_unset_one_unavailable(tmp_path: Path) -> None:
    assert [one.code for one in workers(tmp_path / "nowhere").diagnostics] == ["local_pod_registry_unreadable"]

    async def main() -> None:
        unset = runtime(None)
        assert [one.code for one in (await unset.workers(ANN, 1)).diagnostics] == ["local_pod_registry_unavailable"]
        host, summary = (await unset.hosts(ANN, 1)).items[0], await unset.summary(ANN, 1)
        assert (host.status, summary.status) == ("degraded", "available")
        assert (summary.capabilities.local_pod_inspection, summary.capabilities.can_list_workers) == ("unavailable", False)
        assert (await unset.worker(ANN, "w")).diagnostics[0].severity == "warning"

    asyncio.run(main())


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"worker_name": 1}', "{" * 5000, '{"worker_name": "a"', "\xff"])
def test_metadata_that_is_none_is_invalid(tmp_path: Path, text: str) -> None:
    (pod(tmp_path, "p") / "metadata.json").write_bytes(text.encode("latin-1"))
    assert [one.code for one in workers(tmp_path).diagnostics] == ["local_pod_metadata_invalid"]


def test_tm_reg_pod_links_devices_and_huge_files_are_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "metadata.json").write_text(json.dumps({"worker_name": "secret", "workspace_root": ROOT}))
    good = pod(tmp_path, "good")
    os.symlink(outside, tmp_path / "pods" / "linked")
    linked = pod(tmp_path, "linked-file")
    (linked / "metadata.json").unlink()
    os.symlink(outside / "metadata.json", linked / "metadata.json")
    fifo = pod(tmp_path, "fifo")
    (fifo / "metadata.json").unlink()
    os.mkfifo(fifo / "metadata.json")
    huge = pod(tmp_path, "huge")
    (huge / "metadata.json").write_bytes(b" " * (METADATA_BYTES_MAX + 1))
    (tmp_path / "pods" / "file").write_text("not a directory")
    found = workers(tmp_path)
    assert [one.label for one in found.items] == [good.name]
    assert {one.code for one in found.diagnostics} == {"local_pod_metadata_unreadable"}
    assert len(found.diagnostics) == 3
    lookup = asyncio.run(runtime(tmp_path).worker(ANN, make_id("local-worker-", "linked")))
    assert lookup == msgspec.convert({}, type(lookup))


def test_diagnostics_of_many_broken_pods_are_bounded(tmp_path: Path) -> None:
    for n in range(40):
        pod(tmp_path, f"p{n}", workspace_root="/elsewhere")
    assert len(workers(tmp_path).diagnostics) == 16


def test_pages_of_pods_go_on_where_the_last_ended(tmp_path: Path) -> None:
    for n in range(5):
        pod(tmp_path, f"p{n}")
    pod(tmp_path, "p2-broken", worker_name=3)

    async def main() -> list[str]:
        local, seen, after = runtime(tmp_path), [], None
        while True:
            page = await local.workers(ANN, 2, after)
            seen += [one.label for one in page.items]
            after = page.next
            if after is None:
                return seen

    assert asyncio.run(main()) == ["p0", "p1", "p2", "p3", "p4"]


def test_a_pod_that_comes_or_goes_is_noticed(tmp_path: Path) -> None:
    async def main() -> None:
        pod(tmp_path, "one")
        local = runtime(tmp_path)
        assert (await local.worker(ANN, make_id("local-worker-", "two"))).worker is msgspec.UNSET
        made = pod(tmp_path, "two")
        assert (await local.worker(ANN, make_id("local-worker-", "two"))).worker is not msgspec.UNSET
        (made / "metadata.json").unlink()
        made.rmdir()
        assert (await local.worker(ANN, make_id("local-worker-", "two"))).worker is msgspec.UNSET

    asyncio.run(main())


def test_tm_reg_leak_no_path_is_told_of_local_workers(tmp_path: Path) -> None:
    pod(tmp_path, "p")
    pod(tmp_path, "broken", worker_name=1)
    (pod(tmp_path, "gone") / "metadata.json").unlink()

    async def main() -> None:
        local = runtime(tmp_path)
        told = msgspec.json.encode([await local.hosts(ANN, 9), await local.workers(ANN, 9), await local.summary(ANN, 9)])
        away = runtime(tmp_path / "nowhere")
        told += msgspec.json.encode([await away.hosts(ANN, 9), await away.workers(ANN, 9)])
        for word in (str(tmp_path), ROOT, "metadata.json"):
            assert word not in told.decode(), word

    asyncio.run(main())
