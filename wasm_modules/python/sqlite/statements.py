"""Statements: where one ends in a text, and how one that fails is told."""

import re
import sqlite3

TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))|'(?:[^']|'')*(?:'|\Z)|"(?:[^"]|"")*(?:"|\Z)|`(?:[^`]|``)*(?:`|\Z)|"""
    r"""\[[^\]]*(?:\]|\Z)|[\w$@:#]+|\?\d*|.""",
    re.DOTALL,
)
AT_END = re.compile(r";\s*(?:(?:--[^\n]*|/\*.*?\*/)\s*)*\Z", re.DOTALL)
PLAN = re.compile(r"\s*explain\s+query\s+plan\b", re.IGNORECASE)
CODE = re.compile(r"\s*explain\b", re.IGNORECASE)
SHOWN_MAX, LEFT_MAX, POINTER_LEFT = 78, 50, 25


def tokens(text):
    return (found for found in TOKEN.finditer(text) if found["space"] is None)


def is_blank(text):
    return next(tokens(text), None) is None


def is_complete(text, last_line):
    """Is the text, to which the line was added last, a whole statement, or several?"""
    return AT_END.search(last_line) is not None and sqlite3.complete_statement(text + "\n")


def split(text):
    """The statements of a text, each from its first word on, the last one perhaps without an end; and where they begin."""
    start = None
    for found in tokens(text):
        if start is None:
            if found[0] == ";":
                continue
            start = found.start()
        if found[0] == ";" and sqlite3.complete_statement(text[start : found.end()]):
            yield text[start : found.end()], start
            start = None
    if start is not None:
        yield text[start:], start


class Unbound(dict):
    """The values of parameters: those that have none are NULL."""

    def __missing__(self, name):
        return None


def execute(database, sql, parameters):
    """A cursor. Parameters without a name are NULL, as the command has it."""
    try:
        return database.execute(sql, parameters)
    except sqlite3.ProgrammingError as error:
        if "has no name" not in str(error):
            raise
    pieces, end = [], 0
    for found in tokens(sql):
        if found[0].startswith("?"):
            pieces += [sql[end : found.start()], "NULL"]
            end = found.end()
    return database.execute("".join([*pieces, sql[end:]]), parameters)


def is_refused(database, sql):
    """Does the statement fail before it runs? It is not run to find out."""
    if CODE.match(sql):
        return True
    try:
        execute(database, "EXPLAIN " + sql, Unbound()).close()
    except sqlite3.Error:
        return True
    return False


def tell(database, sql, rest, error):
    """A failure: `in prepare` or `stepping`, what is wrong, with the place if it is known, and its number. `rest` is the text
    from the statement on."""
    text, number = str(error), getattr(error, "sqlite_errorcode", 1) & 0xFF
    if number > 1:
        text += f" ({number})"
    if not is_refused(database, sql):
        return "stepping", text, number
    place = find_place(database, sql, text)
    return "in prepare", text if place is None else text + show_place(rest, place), number


def find_place(database, sql, text):
    """Where the parser, or what looks names up, stopped."""
    near = re.match(r'near "(.*)": syntax error|unrecognized token: "(.*)"|no such (?:column|function): (.*)', text, re.DOTALL)
    if near is None:
        return None
    word = near[1] or near[2] or near[3]
    if near[3]:
        word = word.rpartition(".")[0].rpartition(".")[2] or word
    places = [found for found in tokens(sql) if found[0].startswith(word) or (near[3] and found[0].strip('"`[]') == word)]
    if near[3] or len(places) == 1:
        return places[0].start() if places else None
    for found in places:
        try:
            execute(database, "EXPLAIN " + sql[: found.end()], Unbound()).close()
        except sqlite3.Error as error:
            if str(error) == text:
                return found.start()
    return None


def show_place(sql, place):
    cut = max(0, place - LEFT_MAX)
    line = re.sub(r"\s", " ", sql[cut:][:SHOWN_MAX])
    place -= cut
    if place < POINTER_LEFT:
        return f"\n  {line}\n  {'':{place}}^--- error here"
    return f"\n  {line}\n  {'':{place - 14}}error here ---^"
