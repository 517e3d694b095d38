"""What a user of the command can set, and where its output goes."""

import os
import sys

from _hatchway.sqlite import modes, texts


class Failure(Exception):
    """What is said on stderr; the command goes on with the next line, or ends with the status."""

    def __init__(self, message, status=1):
        super().__init__(message)
        self.status = status


class Settings:
    """How rows are written. `mode` is a key of `modes.WRITERS`."""

    def __init__(self):
        self.mode, self.table = "list", "table"
        self.separator, self.row_separator, self.null = "|", "\n", ""
        self.has_header, self.is_header_given = False, False
        self.widths, self.wrap, self.wraps_words, self.quotes = [], 0, False, False

    def plain(self, value):
        """As text; what is NULL, as the user has it."""
        return self.null if value is None else texts.write_plain(value)

    def choose(self, name, table="table"):
        """As `.mode` does: separators come with the mode."""
        column, row = modes.SEPARATORS.get(name, (None, None))
        self.separator, self.row_separator = column or self.separator, row or self.row_separator
        self.mode, self.table = modes.ALIASES.get(name, name), texts.quote_name(table)
        if name == "qbox":
            self.quotes = True
        if name == "column" and not self.is_header_given:
            self.has_header = True

    def show_mode(self):
        shown = self.mode
        if shown in ("column", "table", "box", "markdown"):
            shown += f" --wrap {self.wrap} --wordwrap {'on' if self.wraps_words else 'off'} --{'' if self.quotes else 'no'}quote"
        return shown


class Output:
    """Standard output, or the file that `.output` or `.once` names."""

    def __init__(self):
        self.file, self.name, self.is_for_once = sys.stdout.buffer, "stdout", False

    def write(self, text):
        self.file.write(text.encode("utf-8", "surrogateescape"))

    def turn_to(self, name, is_for_once=False):
        self.reset()
        if name.startswith("|") or name in ("-e", "-x"):
            raise Failure("Error: no program can be started here: write to a file")
        if name == "off":
            name = os.devnull
        if name != "stdout":
            try:
                self.file = sys.stderr.buffer if name == "stderr" else open(name, "wb")  # noqa: SIM115
            except OSError:
                raise Failure(f'Error: cannot write to "{name}"') from None
        self.name, self.is_for_once = name, is_for_once

    def reset(self):
        if self.name not in ("stdout", "stderr"):
            self.file.close()
        self.file, self.name, self.is_for_once = sys.stdout.buffer, "stdout", False


def tell(text):
    """To stderr, after what was printed."""
    sys.stdout.buffer.flush()
    sys.stderr.buffer.write(text.encode("utf-8", "surrogateescape") + b"\n")
    sys.stderr.buffer.flush()
