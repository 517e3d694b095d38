"""The `hatchway` command. `entry` reads the command line; every other module is one command or what commands share."""


def main(arguments: list[str] | None = None) -> int:
    """The console script. The parser is imported when it is called: most of a cold start is imports."""
    from hatchway.cli.entry import main as enter

    return enter(arguments)
