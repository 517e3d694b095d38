"""The dot commands.

THREAT[TM-POL-START]: none of them runs a program, and none loads code.
"""

import os
import re
import sqlite3

from _hatchway.sqlite import imports, modes, schema, texts
from _hatchway.sqlite.settings import Failure, tell

WORD = re.compile(r"""\s*(?:'((?:[^'])*)'?|"((?:\\.|[^"\\])*)"?|(\S+))""", re.DOTALL)
ESCAPE = re.compile(r"\\([0-7]{1,3}|.)", re.DOTALL)
ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
NESTING_MAX = 25
NO_PROGRAMS = "Error: no program can be started here: run it from the shell, before or after sqlite3"
NO_EXTENSIONS = "Error: extensions cannot be loaded here"


class Leave(Exception):
    def __init__(self, status):
        super().__init__(status)
        self.status = status


def unescape(text):
    def plain(found):
        letter = found[1]
        return chr(int(letter, 8) & 0xFF) if letter[0] in "01234567" else ESCAPES.get(letter, letter)

    return ESCAPE.sub(plain, text)


def split(line):
    words = []
    for single, double, bare in WORD.findall(line.rstrip()):
        words.append(unescape(double) if double else single or bare)
    return words


def is_on(word):
    if word.isdigit():
        return int(word) != 0
    if word.lower() in ("on", "yes"):
        return True
    if word.lower() not in ("off", "no"):
        tell(f'ERROR: Not a boolean value: "{word}". Assuming "no".')
    return False


def usage(text):
    raise Failure(f"Usage: {text}")


def backup(shell, words):
    names = [word for word in words if not word.startswith("-")]
    if not 1 <= len(names) <= 2:
        usage(".backup ?DB? ?OPTIONS? FILENAME")
    with sqlite3.connect(names[-1]) as target:
        shell.database.backup(target, name=names[0] if len(names) == 2 else "main")
    target.close()


def restore(shell, words):
    if not 1 <= len(words) <= 2:
        usage(".restore ?DB? FILE")
    if not os.path.exists(words[-1]):
        raise Failure(f'Error: cannot open "{words[-1]}"')
    with sqlite3.connect(words[-1]) as source:
        source.backup(shell.database)
    source.close()


def databases(shell, words):
    for _, name, file in shell.database.execute("PRAGMA database_list").fetchall():
        is_readonly = shell.is_readonly and name == "main"
        shell.output.write(f"{name}: {file or chr(34) * 2} {'r/o' if is_readonly else 'r/w'}\n")


def change_folder(shell, words):
    if len(words) != 1:
        usage(".cd DIRECTORY")
    try:
        os.chdir(words[0])
    except OSError:
        raise Failure(f'Cannot change to directory "{words[0]}"') from None


def dump(shell, words):
    options = {word.lstrip("-") for word in words if word.startswith("-")}
    if unknown := options - {"data-only", "nosys", "newlines", "preserve-rowids"}:
        raise Failure(f'Unknown option "--{min(unknown)}" on ".dump"')
    patterns = [word for word in words if not word.startswith("-")]
    schema.write_dump(shell.database, patterns, "data-only" in options, "nosys" not in options, shell.output.write)


def set_header(shell, words):
    if len(words) != 1:
        usage(".headers on|off")
    shell.settings.has_header, shell.settings.is_header_given = is_on(words[0]), True


def full_schema(shell, words):
    schema.write_schema(shell.database, None, True, shell.output.write)
    query = "SELECT count(*) FROM sqlite_schema WHERE name GLOB 'sqlite_stat[134]'"
    if not shell.database.execute(query).fetchone()[0]:
        shell.output.write("/* No STAT tables available */\n")


def help_all(shell, words):
    shell.output.write("These commands are there:\n" + "".join(f".{name}\n" for name in sorted(COMMANDS)))


def indexes(shell, words):
    if len(words) > 1:
        usage(".indexes ?LIKE-PATTERN?")
    schema.write_listed(schema.list_names(shell.database, ["index"], words[0] if words else "%", "tbl_name"), shell.output.write)


def set_mode(shell, words):
    settings, name, table, words = shell.settings, None, None, list(words)
    wrap, by_word, quotes = None, None, None
    while words:
        word = words.pop(0)
        option = word.lstrip("-") if word.startswith("-") else None
        if option == "wrap" and words:
            wrap = abs(int(words.pop(0)))
        elif option == "wordwrap" and words:
            by_word = is_on(words.pop(0))
        elif option == "ww":
            by_word = True
        elif option in ("quote", "noquote"):
            quotes = option == "quote"
        elif option is not None:
            raise Failure(f"unknown option: {word}")
        elif name is None:
            name = word
        elif table is None:
            table = word
        else:
            raise Failure(f"extra argument: {word}")
    if name is None:
        return shell.output.write(f"current output mode: {settings.show_mode()}\n")
    found = [known for known in modes.NAMES if known.startswith(name)] if name else []
    exact = name if name in modes.NAMES else found[0] if found else None
    if exact is None:
        raise Failure(f"Error: mode should be one of: {' '.join(modes.NAMES)}")
    settings.wrap, settings.wraps_words, settings.quotes = modes.BOX_WIDTH if wrap is None else wrap, bool(by_word), bool(quotes)
    settings.choose(exact, table or "table")
    return None


def set_null(shell, words):
    if len(words) != 1:
        usage(".nullvalue STRING")
    shell.settings.null = words[0]


def open_other(shell, words):
    is_new, is_readonly, names = False, False, []
    for word in words:
        option = word.lstrip("-") if word.startswith("-") else None
        is_new, is_readonly = is_new or option == "new", is_readonly or option == "readonly"
        if option is None:
            names.append(word)
        elif option not in ("new", "readonly", "nofollow"):
            raise Failure(f"unknown option: {word}")
    shell.close()
    shell.path, shell.is_readonly = (names[0] if names else ":memory:"), is_readonly
    if is_new and names and os.path.exists(names[0]):
        os.unlink(names[0])
    if names:
        shell.database  # noqa: B018 (opens it, or fails)


def set_output(shell, words):
    if len(words) > 1:
        usage(".output ?FILE?")
    shell.output.turn_to(words[0] if words else "stdout")


def set_output_once(shell, words):
    if len(words) != 1:
        usage(".once FILE")
    shell.output.turn_to(words[0], is_for_once=True)


def parameter(shell, words):
    values = shell.parameters
    if words[:1] == ["clear"]:
        values.clear()
    elif words[:1] == ["list"]:
        width = max((len(name) for name in values), default=0)
        for name in sorted(values):
            shell.output.write(f"{name:<{width}} {texts.quote_sql(values[name])}\n")
    elif words[:1] == ["init"]:
        pass
    elif words[:1] == ["set"] and len(words) == 3:
        try:
            value = shell.database.execute(f"SELECT {words[2]}").fetchone()[0]
        except sqlite3.Error:
            value = words[2]
        values[words[1]] = value
    elif words[:1] == ["unset"] and len(words) == 2:
        values.pop(words[1], None)
    else:
        usage(".parameter clear|init|list|set NAME VALUE|unset NAME")


def show_text(shell, words):
    shell.output.write(" ".join(words) + "\n")


def leave(shell, words):
    raise Leave(int(words[0]) & 0xFF if words and re.fullmatch(r"-?\d+", words[0]) else 0)


def read(shell, words):
    if len(words) != 1:
        usage(".read FILE")
    if words[0].startswith("|"):
        raise Failure(NO_PROGRAMS)
    try:
        with open(words[0], "rb") as file:
            text = texts.decode(file.read())
    except OSError:
        raise Failure(f'Error: cannot open "{words[0]}"') from None
    if shell.depth >= NESTING_MAX:
        raise Failure(f"Input nesting limit ({NESTING_MAX}) reached")
    shell.depth += 1
    try:
        if shell.run_script(text):
            raise Failure("")
    finally:
        shell.depth -= 1


def show_schema(shell, words):
    options = {word.lstrip("-") for word in words if word.startswith("-")}
    patterns = [word for word in words if not word.startswith("-")]
    if len(patterns) > 1 or options - {"indent", "nosys"}:
        usage(".schema ?--indent? ?--nosys? ?LIKE-PATTERN?")
    schema.write_schema(shell.database, patterns[0] if patterns else None, "nosys" not in options, shell.output.write)


def set_separator(shell, words):
    if not 1 <= len(words) <= 2:
        usage(".separator COL ?ROW?")
    shell.settings.separator = words[0]
    if len(words) == 2:
        shell.settings.row_separator = words[1]


def show_settings(shell, words):
    settings = shell.settings
    rows = {
        "echo": "on" if shell.has_echo else "off",
        "eqp": "on" if shell.has_plan else "off",
        "explain": "auto",
        "headers": "on" if settings.has_header else "off",
        "mode": settings.show_mode(),
        "nullvalue": texts.quote_c(settings.null),
        "output": shell.output.name,
        "colseparator": texts.quote_c(settings.separator),
        "rowseparator": texts.quote_c(settings.row_separator),
        "stats": "off",
        "width": "".join(f"{width} " for width in settings.widths),
        "filename": shell.path,
    }
    for name, value in rows.items():
        shell.output.write(f"{name:>12}: {value}\n")


def tables(shell, words):
    schema.write_listed(schema.list_names(shell.database, ["table", "view"], words[0] if words else "%"), shell.output.write)


def set_width(shell, words):
    shell.settings.widths = [int(word) if re.fullmatch(r"[+-]?\d+", word) else 0 for word in words]


def show_version(shell, words):
    shell.output.write(f"SQLite {shell.version()}\n")


def set_flag(name):
    def set_it(shell, words):
        if len(words) != 1:
            usage(f".{name.removeprefix('has_').removeprefix('is_')} on|off")
        setattr(shell, name, is_on(words[0]))

    return set_it


def refuse(told):
    def fail(shell, words):
        raise Failure(told)

    return fail


def accept(shell, words):
    """Changes nothing that a script could see."""


COMMANDS = {
    "backup": backup, "bail": set_flag("is_bailing"), "binary": accept, "cd": change_folder, "changes": set_flag("has_changes"),
    "databases": databases, "dump": dump, "echo": set_flag("has_echo"), "eqp": set_flag("has_plan"), "excel": refuse(NO_PROGRAMS),
    "exit": leave, "explain": accept, "fullschema": full_schema, "headers": set_header, "help": help_all, "import": imports.load,
    "indexes": indexes, "indices": indexes, "load": refuse(NO_EXTENSIONS), "log": accept, "mode": set_mode, "nullvalue": set_null,
    "once": set_output_once, "open": open_other, "output": set_output, "parameter": parameter, "print": show_text,
    "prompt": accept, "quit": leave, "read": read, "restore": restore, "save": backup, "schema": show_schema,
    "separator": set_separator, "shell": refuse(NO_PROGRAMS), "show": show_settings, "stats": accept,
    "system": refuse(NO_PROGRAMS), "tables": tables, "timeout": accept, "timer": accept, "version": show_version,
    "width": set_width,
}  # fmt: skip


def find(name):
    """The command that the letters begin; the first of several that is meant alone, as in `.h`."""
    if name in COMMANDS:
        return COMMANDS[name]
    found = [known for known in sorted(COMMANDS) if known.startswith(name)] if name else []
    return COMMANDS[found[0]] if found else None


def run(shell, line):
    """One line that begins with a dot."""
    words = split(line[1:])
    command = find(words[0].lower()) if words else None
    if words and command is None:
        raise Failure(f'Error: unknown command or invalid arguments:  "{words[0]}". Enter ".help" for help')
    if words:
        was_for_once = shell.output.is_for_once
        try:
            command(shell, words[1:])
        except sqlite3.Error as error:
            raise Failure(f"Error: {error}") from None
        except OverflowError:
            raise Failure(f"Error: a number is too large for .{words[0]}") from None
        except ValueError as error:
            raise Failure(f"Error: {error}") from None
        if was_for_once and shell.output.is_for_once:
            shell.output.reset()
