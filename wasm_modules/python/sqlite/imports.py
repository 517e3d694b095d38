"""`.import`: records of a file into a table."""

import sqlite3

from _hatchway.sqlite import texts
from _hatchway.sqlite.settings import Failure, tell


def read_records(text, column, row, is_quoting, warn):
    """The records of a text as the number of the line where one begins and its fields. `is_quoting`: fields may be in quotes."""
    at, line, end = (1 if text.startswith("\ufeff") else 0), 1, len(text)
    while at < end:
        fields, begin = [], line
        while True:
            if is_quoting and text.startswith('"', at):
                field, at, lines = read_quoted(text, at, column, row, line, warn)
                line += lines
            else:
                stop = min((place for place in (text.find(column, at), text.find(row, at)) if place >= 0), default=end)
                field, at = text[at:stop], stop
                if is_quoting and row == "\n" and (at == end or text[at] == row):
                    field = field.removesuffix("\r")
            fields.append(field)
            if at >= end or text[at] != column:
                break
            at += 1
            if at == end:
                fields.append("")
        at += 1
        line += 1
        yield begin, fields


def read_quoted(text, at, column, row, line, warn):
    """The field whose opening quote is at `at`, where it ends, and how many line ends are in it."""
    pieces, begin = [], at + 1
    while True:
        close = text.find('"', begin)
        if close < 0:
            warn('unterminated "-quoted field', line)
            return "".join([*pieces, text[begin:]]), len(text), text.count("\n", at)
        pieces.append(text[begin:close])
        if text.startswith('"', close + 1):
            pieces.append('"')
            begin = close + 2
            continue
        stop = close + 1
        if row == "\n" and text.startswith("\r\n", stop):
            stop += 1
        if stop >= len(text) or text[stop] in (column, row):
            return "".join(pieces), stop, text.count("\n", at, stop)
        warn('unescaped " character', line)
        pieces.append('"')
        begin = close + 1


def name_columns(fields):
    """Names of columns, of which none comes twice."""
    seen, names = set(), []
    for number, field in enumerate(fields, 1):
        name = field or "?"
        if fields.count(field) > 1 or name.lower() in seen:
            name = f"{name}_{number}" if field else f"?_{number}"
        seen.add(name.lower())
        names.append(name)
    return names


def load(shell, words):
    is_csv = is_ascii = False
    skipped, schema, rest, words = 0, "main", [], list(words)
    while words:
        word = words.pop(0)
        option = "-" + word.lstrip("-") if word.startswith("-") else word
        if option == "-csv":
            is_csv = True
        elif option == "-ascii":
            is_ascii = True
        elif option == "-skip" and words:
            skipped = int(words.pop(0))
        elif option == "-schema" and words:
            schema = words.pop(0)
        elif option != "-v":
            if option.startswith("-"):
                raise Failure(f'ERROR: unknown option: "{word}".  Usage:\n.import FILE TABLE')
            rest.append(word)
    if len(rest) != 2:
        raise Failure("ERROR: missing " + ("FILE" if not rest else "TABLE") + " argument. Usage:\n.import FILE TABLE")
    path, table = rest
    if path.startswith("|"):
        raise Failure("Error: no program can be started here: import from a file")
    column, row = separators(shell.settings, is_csv, is_ascii)
    try:
        with open(path, "rb") as file:
            text = texts.decode(file.read())
    except OSError:
        raise Failure(f'Error: cannot open "{path}"') from None
    is_quoting = not is_ascii and shell.settings.mode != "ascii"
    records = read_records(text, column, row, is_quoting, lambda told, line: tell(f"{path}:{line}: {told}"))
    for _ in range(skipped):
        next(records, None)
    insert_all(shell.database, records, path, schema, table)


def separators(settings, is_csv, is_ascii):
    if is_csv or is_ascii:
        return (",", "\n") if is_csv else ("\x1f", "\x1e")
    column, row = settings.separator, settings.row_separator
    if settings.mode == "csv" and row == "\r\n":
        row = "\n"
    for what, text in (("column", column), ("row", row)):
        if len(text) != 1:
            told = "multi-character" if text else "non-null"
            raise Failure(f"Error: {told} {what} separator{'s not allowed' if text else ' required'} for import")
    return column, row


def insert_all(database, records, path, schema, table):
    where = f'"{schema}"."{table.replace(chr(34), chr(34) * 2)}"'
    info = f"PRAGMA {texts.quote_name(schema)}.table_info({texts.quote_sql(table)})"
    count = len(database.execute(info).fetchall())
    is_within = database.in_transaction
    if not is_within:
        database.execute("BEGIN")
    try:
        if not count:
            _, first = next(records, (0, None))
            if first is None:
                raise Failure(f"{path}: empty file")
            count = len(first)
            listed = ", ".join('"' + name.replace('"', '""') + '" TEXT' for name in name_columns(first))
            name = '"' + table.replace('"', '""') + '"'
            database.execute(f"CREATE TABLE {'' if schema == 'main' else texts.quote_name(schema) + '.'}{name}(\n{listed})")
        query = f"INSERT INTO {where} VALUES({','.join('?' * count)})"
        for line, fields in records:
            if len(fields) < count:
                tell(f"{path}:{line}: expected {count} columns but found {len(fields)} - filling the rest with NULL")
                fields += [None] * (count - len(fields))
            elif len(fields) > count:
                tell(f"{path}:{line}: expected {count} columns but found {len(fields)} - extras ignored")
            try:
                database.execute(query, fields[:count])
            except sqlite3.Error as error:
                tell(f"{path}:{line}: INSERT failed: {error}")
    except sqlite3.Error as error:
        raise Failure(f"Error: {error}") from None
    finally:
        if not is_within and database.in_transaction:
            database.execute("COMMIT")
