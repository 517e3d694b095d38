"""Notebook commands as Python: `!cmd`, `x = !cmd`, `%name …`, `%%name` over a whole program, `name?`.

A program that is no Python is read once more, with its commands as the calls that notebooks make of them, line for line: every
place in it stays where it was. Only lines that begin a statement are commands, not those of texts and brackets.
"""

import io
import re
import tokenize

TARGETS = r"[^\W\d]\w*(?:\s*(?:,\s*[^\W\d]\w*|\.\s*[^\W\d]\w*|\[[^\[\]=]*\]))*"
ASSIGNED = re.compile(rf"(\s*{TARGETS}\s*=\s*)([!%])(.*)", re.DOTALL)
ALONE = re.compile(r"(\s*(?:(?:else|try|finally|(?:if|elif|for|while|with)\b[^'\"#:]*):\s*)?)(!!?|%)(.*)", re.DOTALL)
NAMED = re.compile(r"\s*([^\W\d][\w.]*)\s*(.*)", re.DOTALL)
HELP = re.compile(r"(\s*)(?:\?{1,2}\s*([\w.]+)|([^\W\d][\w.]*)\s*\?{1,2})\s*")
OVER_ALL = re.compile(r"\s*%%\s*(!|[^\W\d][\w.]*)[ \t]*([^\r\n]*?)[ \t]*(?:\r?\n(.*))?", re.DOTALL)
AROUND = frozenset(("capture", "time"))  # their program is the rest of this one
ENDS = frozenset((tokenize.NEWLINE, tokenize.NL))


def call(method, *words):
    return f"get_ipython().{method}({', '.join(map(repr, words))})"


def rewrite_command(sign, text):
    """The call that a command is; None if it has no name."""
    if sign != "%":
        return call("system" if sign == "!" else "getoutput", text.strip())
    found = NAMED.fullmatch(text.rstrip())
    return call("run_line_magic", found[1], found[2]) if found else None


def rewrite_statement(line):
    """A statement that is a command, as Python; None if it is none."""
    text = line.rstrip("\r\n")
    found = ASSIGNED.fullmatch(text)
    if found:
        made = rewrite_command("!!" if found[2] == "!" else "%", found[3])
    elif found := ALONE.fullmatch(text):
        made = rewrite_command(found[2], found[3])
    elif found := HELP.fullmatch(text):
        made = call("run_line_magic", "pinfo", found[2] or found[3])
    else:
        return None
    return made and found[1] + made


class Lines:
    """Lines of a program as the tokenizer asks for them, commands among them as Python. Between two of them it tells its tokens,
    so that it is known where statements begin."""

    def __init__(self, text):
        self._given = io.StringIO(text)
        self._due = 0
        """Empty lines, for those that a command had besides its first."""
        self._depth, self._ended_line = 0, 0
        self.made = []

    def read(self):
        line = "\n" if self._due else self._given.readline()
        if self._due:
            self._due -= 1
        elif line and self._ended_line == len(self.made) and self._depth == 0:
            line = self._rewrite(line)
        self.made.append(line)
        return line

    def _rewrite(self, line):
        whole, more = line, 0
        place = self._given.tell()
        while whole.endswith("\\\n") and (following := self._given.readline()):
            whole, more = whole[:-2] + following, more + 1
        made = rewrite_statement(whole)
        if made is None:
            self._given.seek(place)
            return line
        self._due = more
        return made + "\n"

    def hear(self, token):
        if token.type == tokenize.OP:
            self._depth += (token.string in "([{") - (token.string in ")]}")
        elif token.type in ENDS:
            self._ended_line = token.start[0]

    def rest(self):
        return self._given.read()


def rewrite(text):
    """The program with its commands as Python: as many lines as it had, to the same places. What is no command stays as it is."""
    found = OVER_ALL.fullmatch(text)
    if found and found[1] not in AROUND:
        return "\n" * text[: found.start(1)].count("\n") + call("run_cell_magic", found[1], found[2], found[3] or "")
    before = ""
    if found:
        before = "\n" * text[: found.start(1)].count("\n") + call("begin", found[1], found[2]) + "\n"
        text = found[3] or ""
    lines = Lines(text)
    try:
        for token in tokenize.generate_tokens(lines.read):
            lines.hear(token)
    except (SyntaxError, tokenize.TokenError):
        pass  # where reading ended, the parser says why
    return before + "".join(lines.made) + lines.rest()
