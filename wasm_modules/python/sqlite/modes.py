"""The output modes: how the rows of one statement are written.

A mode is given the settings (`settings.Settings`), the names of the columns and the rows, as they come. What it writes goes to
`out`, piece by piece.
"""

from _hatchway.sqlite import texts

BOX_WIDTH = 60
TAB = 8
WIDTH_MAX = 1_000_000


def write_separated(settings, names, rows, out, show, show_name):
    """Values between separators."""
    column, row = settings.separator, settings.row_separator
    is_first = True
    for values in rows:
        if is_first and settings.has_header:
            out(column.join(map(show_name, names)) + row)
        is_first = False
        out(column.join(map(show, values)) + row)


def write_list(settings, names, rows, out):
    write_separated(settings, names, rows, out, settings.plain, str)


def write_quoted(settings, names, rows, out):
    write_separated(settings, names, rows, out, texts.quote_sql, texts.quote_sql)


def write_tcl(settings, names, rows, out):
    def show(value):
        return texts.quote_c(settings.plain(value))

    write_separated(settings, names, rows, out, show, texts.quote_c)


def write_csv(settings, names, rows, out):
    def show(value):
        return settings.null if value is None else texts.quote_csv(texts.write_plain(value), settings.separator)

    write_separated(settings, names, rows, out, show, show)


def write_lines(settings, names, rows, out):
    width = max([5, *(len(name) for name in names)])
    is_first = True
    for values in rows:
        if not is_first:
            out(settings.row_separator)
        is_first = False
        for name, value in zip(names, values, strict=True):
            out(f"{name:>{width}} = {settings.plain(value)}{settings.row_separator}")


def write_html(settings, names, rows, out):
    def line(kind, cells):
        out("<TR>" + "".join(f"<{kind}>{texts.quote_html(cell)}</{kind}>\n" for cell in cells) + "</TR>\n")

    is_first = True
    for values in rows:
        if is_first and settings.has_header:
            line("TH", names)
        is_first = False
        line("TD", map(settings.plain, values))


def write_json(settings, names, rows, out):
    keys = [texts.quote_json(name) for name in names]
    before = "["
    for values in rows:
        out(before + "{" + ",".join(f"{key}:{texts.write_json(value)}" for key, value in zip(keys, values, strict=True)) + "}")
        before = ",\n"
    if before != "[":
        out("]\n")


def write_inserts(settings, names, rows, out):
    listed = "(" + ",".join(map(texts.quote_name, names)) + ")" if settings.has_header else ""
    for values in rows:
        out(f"INSERT INTO {settings.table}{listed} VALUES({','.join(map(texts.quote_sql_in_a_line, values))});\n")


def break_line(text, width, is_by_word):
    """What of the text fits into the first line, and the rest, or None."""
    shown, at = 0, 0
    while shown < width and at < len(text):
        if text[at] >= " ":
            shown += 1
        elif text[at] == "\t":
            shown = min((shown // TAB + 1) * TAB, width)
        else:
            break
        at += 1
    is_full, end = shown >= width, at
    if is_full and is_by_word and at < len(text):
        end, at = find_word_end(text, at)
    if at >= len(text):
        rest = None
    elif is_full and text[at] >= " ":
        rest = text[at:]
    else:
        rest = text[at + (2 if text.startswith("\r\n", at) else 1) :] or None
    return expand_tabs(text[:end], width), rest


def find_word_end(text, at):
    """Where the last word ends that fits, and where the next line begins."""
    for end in range(at, at // 2, -1):
        if text[end - 1].isspace():
            break
    else:
        for end in range(at, at // 2, -1):
            if text[end - 1].isalnum() != text[end].isalnum():
                break
        else:
            return at, at
    begin = end
    while text.startswith(" ", begin):
        begin += 1
    return end, begin


def expand_tabs(text, width):
    if "\t" not in text:
        return text
    line = ""
    for char in text:
        line = line.ljust(min((len(line) // TAB + 1) * TAB, width)) if char == "\t" else line + char
    return line


class Grid:
    """The cells of all rows, in lines, with the width of each column. `ends` says which lines are the last of a row."""

    def __init__(self, settings, names, rows):
        wanted = [settings.widths[place] if place < len(settings.widths) else 0 for place in range(len(names))]
        self.is_right = [width < 0 for width in wanted]
        self.widths = [abs(width) for width in wanted]
        self.limits = [abs(width or settings.wrap) or WIDTH_MAX for width in wanted]
        self.by_word = settings.wraps_words
        self.names = [break_line(name, limit, self.by_word)[0] for name, limit in zip(names, self.limits, strict=True)]
        self.lines, self.ends = [], []
        for values in rows:
            self.add([quote_in_box(value) if settings.quotes else settings.plain(value) for value in values])
        for line in [self.names, *self.lines]:
            self.widths = [max(width, len(cell)) for width, cell in zip(self.widths, line, strict=True)]

    def add(self, cells):
        rest = cells
        while any(cell is not None for cell in rest):
            broken = [
                ("", None) if cell is None else break_line(cell, limit, self.by_word)
                for cell, limit in zip(rest, self.limits, strict=True)
            ]
            self.lines.append([first for first, _ in broken])
            rest = [more for _, more in broken]
            self.ends.append(all(more is None for more in rest))

    def pad(self, cells):
        columns = zip(cells, self.widths, self.is_right, strict=True)
        return [cell.rjust(width) if right else cell.ljust(width) for cell, width, right in columns]

    def center(self):
        for name, width in zip(self.names, self.widths, strict=True):
            left = (width - len(name)) // 2
            yield " " * left + name + " " * (width - len(name) - left)

    def write(self, out, begin, middle, end, divider):
        """All lines; `divider` between rows if one of them has more lines than one."""
        is_divided = divider is not None and not all(self.ends)
        for number, line in enumerate(self.lines):
            out(begin + middle.join(self.pad(line)) + end + "\n")
            if is_divided and self.ends[number] and number + 1 < len(self.lines):
                out(divider)


def quote_in_box(value):
    return texts.quote_sql(value, "x")


def write_columns(settings, names, rows, out):
    grid = Grid(settings, names, rows)
    if not grid.lines:
        return
    if settings.has_header:
        out("  ".join(grid.pad(grid.names)) + "\n")
        out("  ".join("-" * width for width in grid.widths) + "\n")
    grid.write(out, "", "  ", "", "\n")


def write_framed(settings, names, rows, out, bar, corners, dash, has_frame):
    """`corners` are those of the top, of the middle and of the bottom."""
    grid = Grid(settings, names, rows)
    if not grid.lines:
        return

    def rule(left, middle, right):
        return left + middle.join(dash * (width + 2) for width in grid.widths) + right + "\n"

    top, between, bottom = (rule(*corner) for corner in corners)
    begin, middle, end = f"{bar} ", f" {bar} ", f" {bar}"
    out((top if has_frame else "") + begin + middle.join(grid.center()) + end + "\n" + between)
    grid.write(out, begin, middle, end, between if has_frame else None)
    if has_frame:
        out(bottom)


def write_table(settings, names, rows, out):
    write_framed(settings, names, rows, out, "|", ["+++"] * 3, "-", True)


def write_markdown(settings, names, rows, out):
    write_framed(settings, names, rows, out, "|", ["|||"] * 3, "-", False)


def write_box(settings, names, rows, out):
    write_framed(settings, names, rows, out, "│", ["┌┬┐", "├┼┤", "└┴┘"], "─", True)


def write_plan(settings, names, rows, out):
    """`EXPLAIN QUERY PLAN`, as a tree."""
    children = {}
    for place, parent, _, detail in rows:
        children.setdefault(parent, []).append((place, detail))
    if not children:
        return
    out("QUERY PLAN\n")
    waiting = [(place, detail, "", number == 0) for number, (place, detail) in enumerate(reversed(children.get(0, [])))]
    while waiting:
        place, detail, before, is_last = waiting.pop()
        out(f"{before}{'`--' if is_last else '|--'}{detail}\n")
        inner = before + ("   " if is_last else "|  ")
        below = reversed(children.get(place, []))
        waiting += [(other, told, inner, number == 0) for number, (other, told) in enumerate(below)]


def write_code(settings, names, rows, out):
    """`EXPLAIN`: the program of a statement."""
    widths = [4, 13, 4, 4, 4, 13, 2, 13]
    out("  ".join(name.ljust(width) for name, width in zip(names, widths, strict=True)) + "\n")
    out("  ".join("-" * width for width in widths) + "\n")
    for values in rows:
        out("  ".join(settings.plain(value).ljust(width) for value, width in zip(values, widths, strict=True)) + "\n")


WRITERS = {
    "ascii": write_list, "box": write_box, "column": write_columns, "csv": write_csv, "html": write_html,
    "insert": write_inserts, "json": write_json, "line": write_lines, "list": write_list, "markdown": write_markdown,
    "quote": write_quoted, "table": write_table, "tcl": write_tcl,
}  # fmt: skip
SEPARATORS = {
    "ascii": ("\x1f", "\x1e"), "csv": (",", "\r\n"), "line": (None, "\n"), "list": ("|", "\n"), "quote": (",", "\n"),
    "tabs": ("\t", "\n"), "tcl": (" ", "\n"), "column": (None, "\n"),
}  # fmt: skip
"""Of columns and rows, which the mode brings with it."""
ALIASES = {"tabs": "list", "qbox": "box"}
NAMES = sorted([*WRITERS, *ALIASES])
