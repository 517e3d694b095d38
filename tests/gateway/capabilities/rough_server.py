"""An MCP server that does not behave: it answers from a file of JSON, one entry per method, for tests.

The entry of a method is its result, or a list of results, one for each time. `"flood"` never ends its line, `"garbage"` says what
is no message, `"exit"` leaves, `"silence"` says nothing.
"""

from __future__ import annotations

import json
import sys

INITIALIZED = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "rough", "version": "1"}}


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        answers = {"initialize": INITIALIZED, **json.load(file)}
    for line in sys.stdin:
        asked = json.loads(line)
        said = answers.get(asked["method"])
        if isinstance(said, list):
            said = said.pop(0)
        if said == "exit":
            sys.exit(1)
        elif said == "flood":
            while True:
                sys.stdout.write("x" * 65536)
        elif said == "garbage":
            print("Listening on port 3000!", flush=True)
        elif said != "silence" and "id" in asked:
            error = {"error": {"code": -32601, "message": "no such method"}}
            answer = {"jsonrpc": "2.0", "id": asked["id"], **({"result": said} if said is not None else error)}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
