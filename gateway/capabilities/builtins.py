"""Built-in capabilities, as the contract names them.

    list_tools() describe_tool(name) current_policy()                 what there is
    read_text(path) write_text(path, text) list_dir(path)             the session's files
    fetch_text(url, headers) fetch_json(url, headers)                 the web, through the guarded client
    now()                                                             the time

Rules: paths have no `..`. URLs must be permitted by the policy as `net.connect`, and headers may use secrets
(`${secret:NAME}`) without the program seeing them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from gateway.capabilities.endpoints import WebClient, decode_json
from gateway.capabilities.session_files import SessionFiles
from gateway.capabilities.sources import Caller, Function, Offer, Source
from gateway.clock import stamp
from sandbox.capabilities.registry import Capability, CapabilityLimits, ToolError
from sandbox.wire import SideEffect

_TEXT: Final = {"type": "string"}
_PATH: Final = {"type": "string", "minLength": 1, "maxLength": 4096}
_URL: Final = {"type": "string", "minLength": 1, "maxLength": 8192}
_HEADERS: Final = {"type": "object", "maxProperties": 32, "additionalProperties": {"type": "string", "maxLength": 8192}}


class BuiltinSource(Source):
    """`tools` gives what can be called, itself included."""

    def __init__(
        self,
        tools: Callable[[], Sequence[Capability]],
        files: SessionFiles,
        client: WebClient,
        clock_ms: Callable[[], int],
    ) -> None:
        self._tools, self._files, self._client, self._clock_ms = tools, files, client, clock_ms
        self._offers = [
            _offer("list_tools", "The capabilities that can be called here.", {}, {"type": "array"}, self._list_tools),
            _offer(
                "describe_tool", "What a capability takes, gives and does.", {"name": _TEXT}, {"type": "object"}, self._describe
            ),
            _offer("current_policy", "What programs may do here.", {}, {"type": "object"}, self._policy),
            _offer("read_text", "The text of a file.", {"path": _PATH}, _TEXT, self._read_text, SideEffect.READ),
            _offer(
                "write_text",
                "Write a text to a file; gives its path and size.",
                {"path": _PATH, "text": _TEXT},
                {"type": "object", "required": ["path", "bytes"]},
                self._write_text,
                SideEffect.WRITE,
            ),
            _offer(
                "list_dir",
                "The names in a directory, sorted.",
                {"path": _PATH},
                {"type": "array", "items": _TEXT},
                self._list_dir,
                SideEffect.READ,
            ),
            _offer("fetch_text", "The text at a URL.", _FETCH, _TEXT, self._fetch_text, SideEffect.NETWORK, ("url",)),
            _offer("fetch_json", "The JSON value at a URL.", _FETCH, {}, self._fetch_json, SideEffect.NETWORK, ("url",)),
            _offer("now", "The time: unix_ms and an ISO 8601 text in UTC.", {}, {"type": "object"}, self._now, SideEffect.READ),
        ]

    async def _list_tools(self, caller: Caller, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return [{"name": tool.name, "description": tool.description} for tool in self._tools()]

    async def _describe(self, caller: Caller, args: list[Any], kwargs: dict[str, Any]) -> Any:
        name = kwargs["name"]
        for tool in self._tools():
            if tool.name == name:
                return msgspec.to_builtins(tool)
        raise ToolError("UNKNOWN_TOOL", f"there is no capability {name[:80]!r}")

    async def _policy(self, caller: Caller, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return {
            "default_permissions": "none",
            "filesystem": "capability_only",
            "network": "capability_only",
            "subprocess": "denied",
            "tools": [tool.name for tool in self._tools()],
        }

    async def _read_text(self, caller: Caller, args: list[Any], kwargs: dict[str, Any]) -> Any:
        data = await self._files.read(caller, check_path(kwargs["path"]), CapabilityLimits().max_response_bytes)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise ToolError("TOOL_ERROR", f"the file is not text: byte {error.start} is not UTF-8") from None

    async def _write_text(self, caller: Caller, args: list[Any], kwargs: dict[str, Any]) -> Any:
        path, data = check_path(kwargs["path"]), kwargs["text"].encode("utf-8", "surrogatepass")
        await self._files.write(caller, path, data)
        return {"path": path, "bytes": len(data)}

    async def _list_dir(self, caller: Caller, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return sorted(await self._files.names(caller, check_path(kwargs["path"])))

    async def _fetch_text(self, caller: Caller, args: list[Any], kwargs: dict[str, Any]) -> str:
        # It is the program that says where the secret goes: the policy is asked about `run`, not about this capability.
        program = dataclasses.replace(caller, capability="run")
        url, headers, limits = kwargs["url"], kwargs.get("headers", {}), CapabilityLimits()
        text, _ = await self._client.send(caller, "GET", url, headers, limits, using=program, follow_redirects=True)
        return text

    async def _fetch_json(self, caller: Caller, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return decode_json(await self._fetch_text(caller, args, kwargs))

    async def _now(self, caller: Caller, args: list[Any], kwargs: dict[str, Any]) -> Any:
        unix_ms = self._clock_ms()
        return {"unix_ms": unix_ms, "iso": stamp(unix_ms)}


_FETCH: Final = {"url": _URL, "headers": _HEADERS}


def check_path(path: str) -> str:
    if "\0" in path or ".." in path.split("/"):
        raise ToolError("PERMISSION_DENIED", f"{path[:80]!r} must be a path without '..'")
    return path


def _offer(
    name: str,
    description: str,
    properties: Mapping[str, Any],
    output: Mapping[str, Any],
    function: Function,
    side_effect: SideEffect = SideEffect.NONE,
    required: Sequence[str] | None = None,
) -> Offer:
    schema = {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }
    capability = Capability(
        name=name, description=description, input_schema=schema, output_schema=dict(output), side_effect=side_effect
    )
    return Offer(capability, function)
