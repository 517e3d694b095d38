# args: --file todo.json add "buy milk" --priority high --due 2024-12-24
"""A to-do command line: argparse with subcommands, a JSON file, and a table."""
import argparse
import json
import sys
from datetime import date
from pathlib import Path


def build():
    parser = argparse.ArgumentParser(prog="todo", description="Keep a list of things to do.")
    parser.add_argument("--file", type=Path, default=Path("todo.json"))
    parser.add_argument("-v", "--verbose", action="count", default=0)
    sub = parser.add_subparsers(dest="command", required=True)
    add = sub.add_parser("add", help="add a task")
    add.add_argument("title")
    add.add_argument("--priority", choices=["low", "normal", "high"], default="normal")
    add.add_argument("--due", type=date.fromisoformat)
    done = sub.add_parser("done", help="finish tasks")
    done.add_argument("ids", type=int, nargs="+")
    sub.add_parser("list", help="show all")
    return parser


def load(path):
    return json.loads(path.read_text()) if path.exists() else []


def show(tasks):
    for t in tasks:
        mark = "x" if t["done"] else " "
        print(f"[{mark}] {t['id']:>2} {t['title']:<12} {t['priority']:<7} {t['due'] or '-'}")


def main(argv):
    args = build().parse_args(argv)
    tasks = load(args.file)
    if args.command == "add":
        tasks.append({"id": len(tasks) + 1, "title": args.title, "priority": args.priority, "due": args.due and args.due.isoformat(), "done": False})
    elif args.command == "done":
        known = {t["id"] for t in tasks}
        if missing := [i for i in args.ids if i not in known]:
            print(f"todo: no task {missing[0]}", file=sys.stderr)
            return 2
        for t in tasks:
            t["done"] = t["done"] or t["id"] in args.ids
    args.file.write_text(json.dumps(tasks, indent=1))
    show(tasks)
    return 0


if __name__ == "__main__":
    print(sys.argv[1:])
    main(sys.argv[1:])
    main(["add", "write report", "--priority=low"])
    main(["done", "1"])
    print("status", main(["done", "9"]))
    try:
        main(["add", "x", "--priority", "urgent"])
    except SystemExit as e:
        print("exit", e.code)
    print(Path("todo.json").read_text().count("\n"), "lines")
    build().parse_args(["--help"])
