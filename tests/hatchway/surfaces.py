"""The four surfaces of a sandbox behind one set of verbs: the library, HTTP as it is, and both clients.

A test that takes the fixture `surface` runs on each of them, in one gateway for all: what a result says, and what is refused, is
to be the same everywhere. Paths and names are those of programs. What a surface refuses is `Refusal`, with the code that it has
there.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import httpx2 as httpx
import msgspec

from hatchway import AsyncClient, Client, RequestError, Sandbox, VfsError
from sandbox.wire import DEFAULT_LIMITS, RunResult, SessionMeta

PATIENT = msgspec.structs.replace(DEFAULT_LIMITS, wall_ms=60_000, cpu_ms=60_000)
"""The contract's defaults, but for time: this machine is not always quick."""


class Refusal(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


@contextlib.contextmanager
def as_refusals() -> Iterator[None]:
    try:
        yield
    except VfsError as error:
        raise Refusal(error.name, str(error)) from error
    except RequestError as error:
        raise Refusal(error.error.code, error.error.message) from error


class Box:
    """A sandbox with blocking verbs. `inner` is what the surface itself gives, None for HTTP."""

    def __init__(self, inner: Any, finish: Callable[[Any], Any] = lambda made: made) -> None:
        self.inner = inner
        self._finish = finish

    def _call(self, target: Any, name: str, *args: Any, **options: Any) -> Any:
        with as_refusals():
            made = getattr(target, name)(*args, **options)
            return self._finish(made) if inspect.isawaitable(made) else made

    def run(self, code: Any, **options: Any) -> RunResult:
        result: RunResult = self._call(self.inner, "run", code, **options)
        return result

    def read(self, path: str) -> bytes:
        data: bytes = self._call(self.inner.files, "read_file", path)
        return data

    def write(self, path: str, data: bytes) -> None:
        self._call(self.inner.files, "write_file", path, data)

    def names(self, path: str = "") -> list[str]:
        return list(self._call(self.inner.files, "list_dir", path))

    def mkdir(self, path: str) -> None:
        self._call(self.inner.files, "mkdir", path)

    def remove(self, path: str, *, recursive: bool = False) -> None:
        self._call(self.inner.files, "remove", path, recursive=recursive)

    def chmod(self, path: str, mode: int) -> None:
        self._call(self.inner.files, "chmod", path, mode)

    def mode(self, path: str) -> int:
        return int(self._call(self.inner.files, "stat", path).mode)

    def grep(self, text: str) -> tuple[list[tuple[str, int, str]], bool]:
        """What was found, and whether everything was looked at."""
        found = self._call(self.inner.files, "grep", text)
        return [(one.path, one.line_number, one.line) for one in found], found.complete

    def fork(self) -> Box:
        return Box(self._call(self.inner, "fork"), self._finish)

    def meta(self) -> Any:
        made = self.inner.meta
        return self._finish(made) if inspect.isawaitable(made) else made

    def set_value(self, key: str, value: Any) -> None:
        self._call(self.inner.values, "set", key, value)

    def get_value(self, key: str) -> str | None:
        value: str | None = self._call(self.inner.values, "get", key)
        return value

    def delete_value(self, key: str) -> bool:
        return bool(self._call(self.inner.values, "delete", key))

    def list_values(self) -> list[str]:
        return [one.key for one in self._call(self.inner.values, "list")]

    def set_secret(self, key: str, value: str) -> None:
        self._call(self.inner.secrets, "set", key, value)

    def list_secrets(self) -> list[str]:
        return [one.key for one in self._call(self.inner.secrets, "list")]

    def delete_secret(self, key: str) -> bool:
        return bool(self._call(self.inner.secrets, "delete", key))

    def snapshot(self) -> bytes:
        blob: bytes = self._call(self.inner, "snapshot")
        return blob

    def close(self) -> None:
        self._call(self.inner, "close")


class HttpBox(Box):
    """What `curl` would send."""

    def __init__(self, http: httpx.Client, session_id: str) -> None:
        super().__init__(None)
        self.http, self._path = http, f"/v1/sessions/{session_id}"

    def ask(self, method: str, path: str, **sent: Any) -> Any:
        return ask(self.http, method, self._path + path, **sent)

    def run(self, code: Any, **options: Any) -> RunResult:
        body = {name: spell(value) for name, value in {"code": code, **options}.items()}
        if isinstance(stdin := body.pop("stdin", ""), bytes):
            body["stdin_base64"] = base64.b64encode(stdin).decode()
        else:
            body["stdin"] = stdin
        return msgspec.convert(self.ask("POST", "/runs", json=body)["result"], RunResult)

    def read(self, path: str) -> bytes:
        data: bytes = self.ask("GET", f"/files/{spell_path(path)}", raw=True)
        return data

    def write(self, path: str, data: bytes) -> None:
        self.ask("PUT", f"/files/{spell_path(path)}", content=data)

    def names(self, path: str = "") -> list[str]:
        return [one["name"] for one in self.ask("GET", "/files", params={"path": path or "/"})["items"]]

    def mkdir(self, path: str) -> None:
        self.ask("POST", "/directories", json={"path": path})

    def remove(self, path: str, *, recursive: bool = False) -> None:
        self.ask("DELETE", f"/files/{spell_path(path)}", params={"recursive": str(recursive).lower()})

    def chmod(self, path: str, mode: int) -> None:
        self.ask("POST", "/chmod", json={"path": path, "mode": mode})

    def mode(self, path: str) -> int:
        return int(self.ask("GET", "/stat", params={"path": path})["mode"])

    def grep(self, text: str) -> tuple[list[tuple[str, int, str]], bool]:
        found = self.ask("GET", "/search", params={"pattern": text, "regex": "false"})
        return [(one["path"], one["line_number"], one["line"]) for one in found["matches"]], found["complete"]

    def fork(self) -> Box:
        (made,) = self.ask("POST", "/fork")
        return HttpBox(self.http, made["id"])

    def meta(self) -> Any:
        return msgspec.convert(self.ask("GET", ""), SessionMeta)

    def set_value(self, key: str, value: Any) -> None:
        self.ask("PUT", f"/values/{quote(key, safe='')}", content=value.encode())

    def get_value(self, key: str) -> str | None:
        try:
            return bytes(self.ask("GET", f"/values/{quote(key, safe='')}", raw=True)).decode()
        except Refusal as refusal:
            if refusal.code != "VALUE_NOT_FOUND":
                raise
            return None

    def delete_value(self, key: str) -> bool:
        return self._is_deleted(f"/values/{quote(key, safe='')}")

    def _is_deleted(self, path: str) -> bool:
        try:
            self.ask("DELETE", path)
        except Refusal as refusal:
            if not refusal.code.endswith("_NOT_FOUND"):
                raise
            return False
        return True

    def list_values(self) -> list[str]:
        return [one["key"] for one in self.ask("GET", "/values")["items"]]

    def set_secret(self, key: str, value: str) -> None:
        self.ask("PUT", f"/secrets/{quote(key, safe='')}", json={"value": value})

    def list_secrets(self) -> list[str]:
        return [one["name"] for one in self.ask("GET", "/secrets")["items"]]

    def delete_secret(self, key: str) -> bool:
        return self._is_deleted(f"/secrets/{quote(key, safe='')}")

    def snapshot(self) -> bytes:
        made = self.ask("POST", "/snapshots")
        data: bytes = ask(self.http, "GET", f"/v1/snapshots/{made['id']}/content", raw=True)
        return data

    def close(self) -> None:
        self.ask("DELETE", "")


def ask(http: httpx.Client, method: str, path: str, *, raw: bool = False, **sent: Any) -> Any:
    answer = http.request(method, path, **sent)
    if answer.status_code >= 400:
        told = answer.json()
        raise Refusal(told["code"], told.get("message") or told.get("detail") or "")
    return answer.content if raw else answer.json() if answer.content else None


def spell(value: Any) -> Any:
    return msgspec.to_builtins(value) if isinstance(value, msgspec.Struct) else value


def spell_path(path: str) -> str:
    return quote(path.removeprefix("/"))


class Surface:
    """Opens sandboxes, and closes them at the end."""

    name: str

    def __init__(self) -> None:
        self._made: list[Box] = []

    def open(self, **options: Any) -> Box:
        box = self._open(**{"limits": PATIENT, **options})
        self._made.append(box)
        return box

    def close_boxes(self) -> None:
        for box in self._made:
            with contextlib.suppress(Refusal):
                box.close()
        self._made.clear()

    def _open(self, **options: Any) -> Box:
        raise NotImplementedError

    def seed(self, box: Box, path: str, text: str) -> None:
        """A read-only file."""
        raise NotImplementedError

    def can_restore(self, blob: bytes) -> bool:
        raise NotImplementedError

    def restore(self, blob: bytes) -> Box:
        raise NotImplementedError

    def close(self) -> None:
        pass


class Library(Surface):
    name = "library"

    def _open(self, **options: Any) -> Box:
        with as_refusals():
            return Box(Sandbox(**options))

    def seed(self, box: Box, path: str, text: str) -> None:
        box.inner.files.write_file(path, text, readonly=True)

    def can_restore(self, blob: bytes) -> bool:
        return Sandbox.can_restore(blob)

    def restore(self, blob: bytes) -> Box:
        self._made.append(Box(Sandbox.restore(blob)))
        return self._made[-1]


class Remote(Surface):
    def __init__(self, url: str, token: str) -> None:
        super().__init__()
        self.http = httpx.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=130, trust_env=False)

    def seed(self, box: Box, path: str, text: str) -> None:
        session_id = box.inner.id if box.inner is not None else box._path.rpartition("/")[2]  # type: ignore[attr-defined]
        ask(self.http, "POST", f"/v1/sessions/{session_id}/seed", json={"path": path, "content": text, "is_readonly": True})

    def close(self) -> None:
        self.http.close()


class Http(Remote):
    name = "http"

    def _open(self, **options: Any) -> Box:
        made = ask(self.http, "POST", "/v1/sessions", json={name: spell(value) for name, value in options.items()})
        return HttpBox(self.http, made["id"])

    def can_restore(self, blob: bytes) -> bool:
        sent: Any = {"content": blob, "headers": {"content-type": "application/octet-stream"}}
        return bool(ask(self.http, "POST", "/v1/snapshots/check", **sent)["is_restorable"])

    def restore(self, blob: bytes) -> Box:
        sent: Any = {"content": blob, "headers": {"content-type": "application/octet-stream"}}
        kept = ask(self.http, "POST", "/v1/snapshots", **sent)
        made = ask(self.http, "POST", f"/v1/snapshots/{kept['id']}/restore")
        self._made.append(HttpBox(self.http, made["id"]))
        return self._made[-1]


class Sync(Remote):
    name = "client"

    def __init__(self, url: str, token: str) -> None:
        super().__init__(url, token)
        self.client = Client(url, token)

    def _open(self, **options: Any) -> Box:
        with as_refusals():
            return Box(self.client.sandbox(**options))

    def can_restore(self, blob: bytes) -> bool:
        return self.client.can_restore(blob)

    def restore(self, blob: bytes) -> Box:
        self._made.append(Box(self.client.restore(blob)))
        return self._made[-1]

    def close(self) -> None:
        self.client.close()
        super().close()


class Async(Remote):
    name = "async client"

    def __init__(self, url: str, token: str) -> None:
        super().__init__(url, token)
        self._runner = asyncio.Runner()
        self.client = AsyncClient(url, token)

    def finish(self, coming: Any) -> Any:
        async def wait() -> Any:
            return await coming

        return self._runner.run(wait())

    def _open(self, **options: Any) -> Box:
        with as_refusals():
            return Box(self.finish(self.client.sandbox(**options)), self.finish)

    def can_restore(self, blob: bytes) -> bool:
        return bool(self.finish(self.client.can_restore(blob)))

    def restore(self, blob: bytes) -> Box:
        self._made.append(Box(self.finish(self.client.restore(blob)), self.finish))
        return self._made[-1]

    def close(self) -> None:
        self.finish(self.client.close())
        self._runner.close()
        super().close()


REMOTE: dict[str, type[Remote]] = {one.name: one for one in (Http, Sync, Async)}
NAMES = (Library.name, *REMOTE)
