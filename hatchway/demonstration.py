"""What `make serve` shows until there is a gateway: one session, three languages, one filesystem, and a limit that holds."""

from __future__ import annotations

import sys

from hatchway.box import Sandbox
from hatchway.cli import paint, show_progress

_STEPS = (
    ("shell", "printf 'name,score\\nada,90\\ngrace,95\\n' > scores.csv; cat scores.csv"),
    ("python", "import pandas as pd\nscores = pd.read_csv('scores.csv')\n"
     "scores.to_json('scores.json', orient='records')\nprint(scores.score.mean())"),
    ("typescript", "import fs from 'fs';\ntype Row = { name: string; score: number };\n"
     "const rows: Row[] = JSON.parse(fs.readFileSync('scores.json', 'utf8'));\n"
     "console.log(rows.map((r: Row): string => r.name));"),
    ("python", "while True: pass"),
    ("python", "len(scores)"),
)  # fmt: skip


def main() -> int:
    out = sys.stdout
    with Sandbox(progress=show_progress) as box:
        for language, code in _STEPS:
            print(paint(f"── {language} " + "─" * (60 - len(language)), "dim", out))
            print(paint(code, "bold", out))
            result = box.run(code, language=language, timeout_ms=500)
            print(result.stdout, end="")
            if result.result is not None:
                print(f"=> {result.result}")
            if result.error is not None:
                print(
                    paint(
                        f"{result.status.value}: {result.error.message}; the session goes on with its state from before",
                        "yellow",
                        out,
                    )
                )
    print(paint("─" * 64, "dim", out))
    print("Next:  .venv/bin/hatchway run -c 'print(1 + 1)'     .venv/bin/hatchway doctor     .venv/bin/hatchway run --help")
    return 0


if __name__ == "__main__":
    sys.exit(main())
