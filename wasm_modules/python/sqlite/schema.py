"""What a database consists of, as SQL: `.schema`, `.dump`, `.tables`, `.indexes`."""

import re

from _hatchway.sqlite import texts

LINE_WIDTH = 80
QUOTED_TABLE = re.compile(r"CREATE TABLE ['\"]")


def schemas(database):
    return [row[1] for row in database.execute("PRAGMA database_list")]


def table_of(schema):
    return f"{texts.quote_name(schema)}.sqlite_{'temp_' if schema == 'temp' else ''}schema"


def write_listed(names, out):
    """In columns, as `ls` does."""
    if not names:
        return
    width = max(map(len, names))
    columns = max(1, LINE_WIDTH // (width + 2))
    rows = -(-len(names) // columns)
    for row in range(rows):
        out("  ".join(name.ljust(width) for name in names[row::rows]) + "\n")


def list_names(database, kinds, pattern, column="name"):
    """Sorted names of all databases, with the database's own before them where it is not the main one."""
    found = []
    for schema in schemas(database):
        before = "" if schema == "main" else f"{schema}."
        marks = ",".join(f"'{kind}'" for kind in kinds)
        only = "AND name NOT LIKE 'sqlite__%' ESCAPE '_'" if "table" in kinds else ""
        query = f"SELECT name FROM {table_of(schema)} WHERE type IN ({marks}) {only} AND {column} LIKE ?"
        found += [before + name for (name,) in database.execute(query, [pattern])]
    return sorted(found, key=lambda name: name.encode("utf-8", "surrogateescape"))


def show(sql, end):
    return QUOTED_TABLE.sub(lambda found: "CREATE TABLE IF NOT EXISTS " + found[0][-1], sql, count=1) + end


def columns_of(database, schema, name):
    return [row[1] for row in database.execute(f"PRAGMA {texts.quote_name(schema)}.table_info({texts.quote_sql(name)})")]


def comment_on(database, schema, kind, name, sql):
    """Views and virtual tables do not tell their columns themselves."""
    if kind != "view" and not sql.upper().startswith("CREATE VIRTUAL"):
        return ""
    before = "" if schema == "main" else texts.quote_name(schema) + "."
    listed = ",".join(map(texts.quote_name, columns_of(database, schema, name)))
    return f"\n/* {before}{texts.quote_name(name)}({listed}) */" if listed else ""


def write_schema(database, pattern, has_system, out):
    for schema in schemas(database):
        query = f"SELECT type, name, sql FROM {table_of(schema)} WHERE sql NOT NULL"
        query += "" if has_system else " AND name NOT LIKE 'sqlite__%' ESCAPE '_'"
        query += " AND lower(tbl_name) LIKE lower(?1) ORDER BY rowid" if pattern is not None else " ORDER BY rowid"
        for kind, name, sql in database.execute(query, [] if pattern is None else [pattern]).fetchall():
            if schema not in ("main",) and sql.upper().startswith("CREATE "):
                words = re.match(r"(CREATE (?:TEMP |TEMPORARY |UNIQUE |VIRTUAL )?\w+ (?:IF NOT EXISTS )?)", sql, re.IGNORECASE)
                if words and schema != "temp":
                    sql = words[1] + texts.quote_name(schema) + "." + sql[words.end() :]
            out(show(sql, comment_on(database, schema, kind, name, sql) + ";\n"))


def write_dump(database, patterns, is_data_only, has_system, out):
    only = " OR ".join(["name LIKE ? ESCAPE '\\'"] * len(patterns)) or "true"
    if not is_data_only:
        out("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n")
    query = f"SELECT name, sql FROM sqlite_schema WHERE ({only}) AND type='table' AND sql NOT NULL"
    query += " ORDER BY tbl_name='sqlite_sequence', rowid"
    for name, sql in database.execute(query, patterns).fetchall():
        dump_table(database, name, sql, is_data_only, has_system, out)
    if is_data_only:
        return
    query = f"SELECT sql FROM sqlite_schema WHERE ({only}) AND sql NOT NULL AND type IN ('index','trigger','view')"
    for (sql,) in database.execute(query, patterns).fetchall():
        out(show(sql, ";\n"))
    out("COMMIT;\n")


def dump_table(database, name, sql, is_data_only, has_system, out):
    if name == "sqlite_sequence":
        if not is_data_only:
            out("DELETE FROM sqlite_sequence;\n")
    elif name.startswith("sqlite_stat"):
        if not is_data_only:
            out("ANALYZE sqlite_schema;\n")
    elif name.startswith("sqlite_"):
        return
    elif sql.upper().startswith("CREATE VIRTUAL TABLE"):
        if not is_data_only:
            values = ",".join(["'table'", texts.quote_sql(name), texts.quote_sql(name), "0", texts.quote_sql(sql)])
            out("PRAGMA writable_schema=ON;\n")
            out(f"INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES({values});\n")
        return
    elif not is_data_only:
        out(show(sql, ";\n"))
    quoted = texts.quote_name(name)
    columns = columns_of(database, "main", name)
    listed = ",".join('"' + column.replace('"', '""') + '"' for column in columns)
    for row in database.execute(f"SELECT {listed} FROM {quoted}"):
        out(f"INSERT INTO {quoted} VALUES({','.join(map(texts.quote_sql_in_a_line, row))});\n")
