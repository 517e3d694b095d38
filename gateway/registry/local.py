"""The local runtime: workers seen in a directory of pods, read and never touched.

    {data_dir}/pods/{name}/metadata.json

Rules: only real directories count, in the order of their names. A worker is shown if its metadata says that it belongs to the
workspace; equality of workspaces is lexical. THREAT[TM-REG-POD]: a pod's directory and its metadata are opened without following
links, must be a directory and a regular file, and at most 64 KiB are read. Nothing that is told has a path in it.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from gateway.records import Principal
from gateway.registry import wire
from gateway.registry.identifiers import display_hint, make_id
from gateway.registry.runtime import LOOKING, Refusal, Runtime, describe_abilities, rfc3339

METADATA_BYTES_MAX: Final = 64 << 10
PODS_MAX: Final = 20_000
_SETTLED_NS: Final = 2_000_000_000
_WORKER_ID: Final = "local-worker-"
_ACTIONS: Final = [wire.diagnostic("worker_actions_not_implemented", "info", "local workers can be seen, not controlled")]
_UNAVAILABLE: Final = wire.diagnostic("local_pod_registry_unavailable", "warning", "no directory of local workers is configured")
_NO_ROOT: Final = wire.diagnostic("local_pod_workspace_root_missing", "warning", "a worker's metadata names no workspace")
_ELSEWHERE: Final = wire.diagnostic("local_pod_workspace_not_visible", "info", "a worker belongs to another workspace")


class Active(msgspec.Struct, frozen=True, kw_only=True):
    segment_id: Any = None


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a pod's metadata that is read."""

    worker_name: str
    workspace_root: str | None = None
    active: Active | None = None
    resolved_manifest_snapshot: Any = None


class LocalRuntime(Runtime):
    runtime_id, label, kind = wire.LOCAL_RUNTIME, "Local Worker runtime", "local_pod"
    source = wire.RuntimeSource(kind="local_compatibility", note="a read-only view of local workers' metadata")
    status = "available"

    def __init__(self, workspace_id: str, workspace_root: str, data_dir: Path | None, clock_ms: Callable[[], int]) -> None:
        self._host_id = make_id("local-", workspace_id)
        self._root, self._clock_ms = workspace_root, clock_ms
        self._pods = None if data_dir is None else data_dir / "pods"
        self._names: dict[str, str] = {}
        self._seen: tuple[int, int] | None = None

    def host(self, tenant: str, limit: int) -> wire.HostSummary:
        is_there = self._pods is not None
        return wire.HostSummary(
            runtime_id=self.runtime_id,
            host_id=self._host_id,
            label=display_hint(_normalise(self._root).rpartition("/")[2]) or "workspace",
            kind=wire.LOCAL_HOST,
            status="available" if is_there else "degraded",
            observed_at=rfc3339(self._clock_ms()),
            capabilities=describe_abilities(
                LOOKING,
                is_there,
                PODS_MAX,
                local_pod_inspection="available" if is_there else "unavailable",
                workspace_scope="current_workspace",
            ),
            diagnostics=[] if is_there else [_UNAVAILABLE],
        )

    async def workers(self, principal: Principal, limit: int, after: str | None = None) -> wire.Listing[wire.WorkerSummary]:
        if self._pods is None:
            return wire.Listing(items=[], diagnostics=[_UNAVAILABLE])
        if limit == 0:
            return wire.Listing(items=[])
        return await asyncio.to_thread(self._list, self._pods, limit, after)

    def _list(self, pods: Path, limit: int, after: str | None) -> wire.Listing[wire.WorkerSummary]:
        try:
            names = sorted(self._scan(pods).values())
        except Refusal as unreadable:
            return wire.Listing(items=[], diagnostics=[unreadable.said])
        if after is not None:
            names = [name for name in names if name > after]
        items: list[wire.WorkerSummary] = []
        said: list[wire.RuntimeDiagnostic] = []
        before = after
        for name in names:
            if len(items) == limit:
                return wire.Listing(items=items, diagnostics=said, next=before)
            try:
                items.append(self._read(pods, name))
            except Refusal as unreadable:
                if len(said) < wire.MAX_DIAGNOSTICS:
                    said.append(unreadable.said)
            before = name
        return wire.Listing(items=items, diagnostics=said)

    async def worker(self, principal: Principal, worker_id: str) -> wire.WorkerLookup:
        if self._pods is None:
            return wire.WorkerLookup(diagnostics=[_UNAVAILABLE])
        return await asyncio.to_thread(self._find, self._pods, worker_id)

    def _find(self, pods: Path, worker_id: str) -> wire.WorkerLookup:
        try:
            name = self._scan(pods).get(worker_id)
            return wire.WorkerLookup() if name is None else wire.WorkerLookup(worker=self._read(pods, name))
        except Refusal as unreadable:
            return wire.WorkerLookup(diagnostics=[unreadable.said])

    def _scan(self, pods: Path) -> dict[str, str]:
        """Ids and names of the pods. Read again when the directory changed, or may have changed in the tick it was read in."""
        try:
            now = os.stat(pods)
            if self._seen == (now.st_ino, now.st_mtime_ns) and time.time_ns() - now.st_mtime_ns > _SETTLED_NS:
                return self._names
            names: dict[str, str] = {}
            with os.scandir(pods) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False) and entry.name.isprintable():
                        names[make_id(_WORKER_ID, entry.name)] = entry.name
                    if len(names) > PODS_MAX:
                        raise _refuse_registry(f"there are more than {PODS_MAX} local workers")
        except OSError as error:
            raise _refuse_registry(f"local workers could not be listed: {error.strerror}") from None
        self._names, self._seen = names, (now.st_ino, now.st_mtime_ns)
        return names

    def _read(self, pods: Path, name: str) -> wire.WorkerSummary:
        try:
            data = _read_metadata(pods / name)
        except OSError as error:
            message = f"a worker's metadata could not be read: {error.strerror}"
            raise Refusal(wire.diagnostic("local_pod_metadata_unreadable", "warning", message)) from None
        try:
            found = msgspec.json.decode(data, type=Metadata)
        except (msgspec.DecodeError, RecursionError):
            message = "a worker's metadata is not what it should be"
            raise Refusal(wire.diagnostic("local_pod_metadata_invalid", "warning", message)) from None
        if found.workspace_root is None:
            raise Refusal(_NO_ROOT)
        if _normalise(found.workspace_root) != _normalise(self._root):
            raise Refusal(_ELSEWHERE)
        return self._worker(name, found)

    def _worker(self, name: str, found: Metadata) -> wire.WorkerSummary:
        status = "metadata_only"
        if found.active is not None:
            status = "active:pending_segment" if found.active.segment_id is None else "active:segment"
        return wire.WorkerSummary(
            runtime_id=self.runtime_id,
            worker_id=make_id(_WORKER_ID, name),
            host_id=self._host_id,
            label=display_hint(found.worker_name),
            role=_manifest_hint(found.resolved_manifest_snapshot, "role", "role_claim"),
            profile=_manifest_hint(found.resolved_manifest_snapshot, "profile_selector", "profile"),
            workspace=wire.WorkerWorkspace(visibility="current_workspace", identity="runtime_workspace"),
            state="metadata_only" if found.active is None else "active",
            status=status,
            implementation=wire.WorkerImplementation(kind="local_pod", display_hint=display_hint(name)),
            capabilities=wire.WorkerCapabilities(),
            diagnostics=_ACTIONS,
        )


def _read_metadata(pod: Path) -> bytes:
    """The metadata of a pod, if its directory is one and the metadata a file of a sensible size."""
    folder = os.open(pod, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        file = os.open("metadata.json", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(0, "not a regular file")
        data = bytearray()
        while len(data) <= METADATA_BYTES_MAX and (part := os.read(file, METADATA_BYTES_MAX + 1 - len(data))):
            data += part
        if len(data) > METADATA_BYTES_MAX:
            raise OSError(0, f"more than {METADATA_BYTES_MAX} bytes")
        return bytes(data)
    finally:
        os.close(file)


def _refuse_registry(message: str) -> Refusal:
    return Refusal(wire.diagnostic("local_pod_registry_unreadable", "warning", message))


def _normalise(path: str) -> str:
    plain = path.replace("\\", "/")
    return plain.rstrip("/") or plain[:1]


def _manifest_hint(snapshot: Any, key: str, other: str) -> str | None:
    """`role` or `role_claim.role`; `profile_selector` or `profile`. A text, or the `name` of an object."""
    if not isinstance(snapshot, dict):
        return None
    found = snapshot.get(key)
    if found is None and key not in snapshot:
        found = snapshot.get(other)
        if other == "role_claim":
            found = found.get("role") if isinstance(found, dict) else None
    if isinstance(found, dict):
        found = found.get("name")
    return (display_hint(found) or None) if isinstance(found, str) else None
