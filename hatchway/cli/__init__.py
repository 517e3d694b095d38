"""The `hatchway` command.

In reading order: `entry` (reads the command line and calls a command), `options` (that commands share), `terminal` (what is
shown there), `host_files` (files of this machine), `program` (a program and what it is given), `run`, `run_governed` (a run
under a policy); then one command each: `snapshots`, `snapshot_inspect`, `templates`, `packages`, `guest_images`, `doctor`,
`completion`, `explain`, `serve`, `hooks`; and on the store of a gateway: `owner` (tokens and secrets) and `audit`.
"""


def main(arguments: list[str] | None = None) -> int:
    """The console script. The parser is imported when it is called: most of a cold start is imports."""
    from hatchway.cli.entry import main as enter

    return enter(arguments)
