"""The `hatchway` command.

In reading order: `entry` (reads the command line and calls a command), `options` (arguments that commands share), `terminal`
(what is shown on a terminal), `output` (tables and facts); `program` (a program and what it is given), `program_arguments`
(words after FILE), `host_files` (files copied into a sandbox), `run`, `run_governed` (a run under a policy); then one command
each: `serve`, `snapshots`, `snapshot_inspect`, `templates`, `hooks`, `audit`, `secrets`, `tokens`, `doctor`, `completion`.
"""


def main(arguments: list[str] | None = None) -> int:
    """The console script. The parser is imported when it is called: most of a cold start is imports."""
    from hatchway.cli.entry import main as enter

    return enter(arguments)
