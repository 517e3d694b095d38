"""Tools of `hatchway mcp` whose arguments are checked in our own words. Imported only where a server is made: it needs the MCP
library.

Rules: an argument that a tool does not have is refused: an agent that is not told believes that it was heeded. What is wrong is
said by argument, in one line, with the contract's code; nothing of what was sent is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from pydantic import ValidationError

_WORDS: Final = {"missing": "is missing", "extra_forbidden": "is no argument of this tool"}


class StrictTool(Tool):
    def model_post_init(self, context: Any, /) -> None:
        arguments = self.fn_metadata.arg_model
        arguments.model_config["extra"] = "forbid"
        arguments.model_rebuild(force=True)
        self.parameters = arguments.model_json_schema(by_alias=True)

    async def run(self, arguments: dict[str, Any], *options: Any, **more: Any) -> Any:
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as wrong:
            said = "; ".join(map(_describe_mistake, wrong.errors(include_url=False)))
            taken = ", ".join(self.parameters["properties"])
            raise ToolError(f"Error executing tool {self.name}: INVALID_ARGUMENT: {said} (there are: {taken})") from None
        return await super().run(arguments, *options, **more)


def _describe_mistake(mistake: Mapping[str, Any]) -> str:
    words = _WORDS.get(mistake["type"]) or f"does not fit: {mistake['msg']}"
    return f"{'.'.join(map(str, mistake['loc']))} {words}"
