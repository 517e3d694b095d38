"""`sqlite3`: reads its words, then runs what they or standard input say, and turns failures into what it says and its status."""

import os
import re
import sqlite3
import sys
import urllib.parse

from _hatchway.sqlite import dots, modes, statements, texts
from _hatchway.sqlite.settings import Failure, Output, Settings, tell

TERMINATOR = re.compile(r"\s*(?:/|[Gg][Oo])\s*;?\s*\Z")
WITH_VALUE = frozenset(("separator", "newline", "nullvalue", "cmd", "init", "vfs", "maxsize", "mmap", "nonce"))
WITH_TWO_VALUES = frozenset(("lookaside", "pagecache"))
WITHOUT_EFFECT = frozenset(
    ("batch", "interactive", "nofollow", "deserialize", "append", "unsafe-testing", "stats", "memtrace", "safe")
)
USAGE = """Usage: sqlite3 [OPTIONS] FILENAME [SQL]
FILENAME is the name of an SQLite database. A new database is created
if the file does not previously exist.
OPTIONS include:
   -ascii, -box, -column, -csv, -html, -json, -line, -list,
   -markdown, -quote, -table, -tabs   set the output mode
   -bail                stop after hitting an error
   -batch               force batch I/O
   -cmd COMMAND         run "COMMAND" before reading stdin
   -echo                print inputs before execution
   -init FILENAME       read/process named file
   -[no]header          turn headers on or off
   -newline SEP         set output row separator. Default: '\\n'
   -nullvalue TEXT      set text string for NULL values. Default ''
   -readonly            open the database read-only
   -separator SEP       set output column separator. Default: '|'
   -version             show SQLite version
"""


class Shell:
    """One call of the command. `parameters` are those of `.parameter`, by their whole names."""

    def __init__(self):
        self.path, self.is_readonly, self.connection = ":memory:", False, None
        self.settings, self.output, self.parameters = Settings(), Output(), {}
        self.depth = 0
        self.is_bailing = self.has_echo = self.has_plan = self.has_changes = False

    @property
    def database(self):
        if self.connection is None:
            self.connection = self.open()
        return self.connection

    def open(self):
        name = self.path
        if not name.startswith("file:"):
            name = ":memory:" if name in ("", ":memory:") else "file:" + urllib.parse.quote(os.fsencode(name))
        if self.is_readonly and name != ":memory:":
            name += "&mode=ro" if "?" in name else "?mode=ro"
        try:
            database = sqlite3.connect(name, isolation_level=None, timeout=0, uri=True, cached_statements=0)
        except sqlite3.Error as error:
            raise Failure(f'Error: unable to open database "{self.path}": {error}') from None
        database.text_factory = texts.decode
        add_functions(database)
        return database

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def version(self):
        return self.database.execute("SELECT sqlite_version() || ' ' || sqlite_source_id()").fetchone()[0]

    def bindings(self):
        return statements.Unbound((name[1:], value) for name, value in self.parameters.items())

    def run_statement(self, sql):
        database, settings, out = self.database, self.settings, self.output.write
        cursor = statements.execute(database, sql, self.bindings())
        if cursor.description is None:
            return
        names, rows = [column[0] for column in cursor.description], cursor
        if statements.PLAN.match(sql):
            modes.write_plan(settings, names, rows, out)
        elif statements.CODE.match(sql):
            modes.write_code(settings, names, rows, out)
        else:
            modes.WRITERS[settings.mode](settings, names, rows, out)

    def run_sql(self, text):
        """Every statement of it, up to one that fails: then the kind of failure, what is wrong, and its number."""
        for sql, begin in statements.split(text):
            try:
                if self.has_plan and not statements.CODE.match(sql):
                    rows = self.database.execute("EXPLAIN QUERY PLAN " + sql, self.bindings())
                    modes.write_plan(self.settings, (), rows, self.output.write)
                self.run_statement(sql)
            except (sqlite3.Error, UnicodeError, OverflowError) as error:
                return statements.tell(self.database, sql, text[begin:], error)
        if self.has_changes:
            changed, total = self.database.execute("SELECT changes(), total_changes()").fetchone()
            self.output.write(f"changes: {changed}   total_changes: {total}\n")
        return None

    def run_dot(self, line):
        """The status of a dot command, whose failure has been told."""
        try:
            dots.run(self, line)
        except Failure as failure:
            if str(failure):
                tell(str(failure))
            return failure.status
        return 0

    def run_lines(self, text, begin):
        """A piece of a script that begins at a line. How many errors it had."""
        failed = self.run_sql(text)
        if failed is None:
            return 0
        kind, told, _ = failed
        tell(f"{'Parse' if kind == 'in prepare' else 'Runtime'} error near line {begin}: {told}")
        return 1

    def run_script(self, text):
        """Lines of statements and dot commands. How many errors they had."""
        errors, waiting, begin = 0, [], 1
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        for number, line in enumerate(lines, 1):
            line = line.removesuffix("\r")
            if not waiting:
                if statements.is_blank(line):
                    self.echo(line)
                    continue
                if line.startswith((".", "#")):
                    self.echo(line)
                    errors += self.run_dot(line) != 0 if line.startswith(".") else 0
                    if errors and self.is_bailing:
                        return errors
                    continue
                begin = number
            if waiting and TERMINATOR.match(line) and sqlite3.complete_statement("\n".join(waiting) + "\n;"):
                line = ";"
            waiting.append(line)
            if ";" in line and statements.is_complete("\n".join(waiting), line):
                errors += self.run_waiting(waiting, begin)
                waiting = []
                if errors and self.is_bailing:
                    return errors
        if waiting and not statements.is_blank("\n".join(waiting)):
            errors += self.run_waiting(waiting, begin)
        return errors

    def run_waiting(self, lines, begin):
        text = "\n".join(lines)
        self.echo(text)
        errors = self.run_lines(text, begin)
        if self.output.is_for_once:
            self.output.reset()
        return errors

    def echo(self, text):
        if self.has_echo:
            sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape") + b"\n")

    def run_word(self, text):
        """SQL or a dot command of the command line. The status, which ends the command unless it is 0."""
        if text.startswith("."):
            return self.run_dot(text)
        failed = self.run_sql(text)
        if failed is None:
            return 0
        kind, told, number = failed
        tell(f"Error: {kind}, {told}")
        return number or 1


def add_functions(database):
    """What the command has in addition to the library."""

    def matches(pattern, text):
        return None if pattern is None or text is None else re.search(pattern, text) is not None

    def read_file(path):
        try:
            with open(path, "rb") as file:
                return file.read()
        except (OSError, TypeError):
            return None

    def write_file(path, data):
        data = b"" if data is None else data if isinstance(data, bytes) else str(data).encode("utf-8", "surrogateescape")
        try:
            with open(path, "wb") as file:
                return file.write(data)
        except (OSError, TypeError):
            return None

    database.create_function("regexp", 2, matches, deterministic=True)
    database.create_function("readfile", 1, read_file)
    database.create_function("writefile", 2, write_file)


class Words:
    """The command line. `before` are lines that come first, `rest` those after the database's name."""

    def __init__(self, shell, words):
        self.before, self.rest, self.path, self.init = [], [], None, None
        self.is_answered = False
        words = list(words)
        while words:
            word = words.pop(0)
            if word == "-" or not word.startswith("-"):
                if self.path is None:
                    self.path = word
                else:
                    self.rest.append(word)
                continue
            self.take(shell, word[2:] if word.startswith("--") else word[1:], word, words)

    def take(self, shell, name, word, words):
        settings = shell.settings
        if name in WITH_VALUE or name in WITH_TWO_VALUES:
            values = [words.pop(0) if words else None for _ in range(2 if name in WITH_TWO_VALUES else 1)]
            if None in values:
                raise Failure(f"sqlite3: Error: missing argument to {word}")
            self.take_value(settings, name, values[0])
        elif name in modes.WRITERS or name in modes.ALIASES:
            column, _ = modes.SEPARATORS.get(name, (None, None))
            settings.mode = modes.ALIASES.get(name, name)
            settings.separator = column if name in ("csv", "ascii", "tabs", "quote") else settings.separator
            settings.row_separator = "\x1e" if name == "ascii" else settings.row_separator
        elif name in ("header", "noheader"):
            settings.has_header, settings.is_header_given = name == "header", True
        elif name == "readonly":
            shell.is_readonly = True
        elif name == "bail":
            shell.is_bailing = True
        elif name == "echo":
            shell.has_echo = True
        elif name in ("version", "help"):
            self.is_answered = True
            shell.output.write(USAGE if name == "help" else shell.version() + "\n")
            words.clear()
        elif name not in WITHOUT_EFFECT:
            raise Failure(f"sqlite3: Error: unknown option: {word}\nUse -help for a list of options.")

    def take_value(self, settings, name, value):
        if name == "separator":
            settings.separator = value
        elif name == "newline":
            settings.row_separator = value
        elif name == "nullvalue":
            settings.null = value
        elif name == "cmd":
            self.before.append(value)
        elif name == "init":
            self.init = value


def run(words):
    """The exit status."""
    shell = Shell()
    try:
        given = Words(shell, words)
        if given.is_answered:
            return 0
        shell.path = given.path or ":memory:"
        if os.path.exists(shell.path):
            shell.database  # noqa: B018 (opens it, or fails)
        prepare(shell, given.init)
        for text in given.before:
            if (status := shell.run_word(text)) and (shell.is_bailing or not text.startswith(".")):
                return status
        for text in given.rest:
            if status := shell.run_word(text):
                return status
        if given.rest:
            return 0
        return 1 if shell.run_script(texts.decode(sys.stdin.buffer.read())) else 0
    except Failure as failure:
        tell(str(failure))
        return failure.status
    except dots.Leave as left:
        return left.status
    finally:
        shell.output.reset()
        shell.close()


def prepare(shell, path):
    """The user's own file of commands, which comes first."""
    path = path or os.path.join(os.environ.get("HOME", "/"), ".sqliterc")
    try:
        with open(path, "rb") as file:
            text = texts.decode(file.read())
    except OSError:
        return
    shell.run_script(text)


def main():
    """Runs `sys.argv`."""
    # THREAT[TM-POL-START]: this program is ours alone: nothing of the session's files is imported into it.
    sys.path[:] = [path for path in sys.path if path.startswith("/usr/local/lib/")]
    try:
        status = run(sys.argv[1:])
    except BrokenPipeError:
        status = 141
    except MemoryError:
        tell("Error: out of memory")
        status = 1
    sys.exit(status)
