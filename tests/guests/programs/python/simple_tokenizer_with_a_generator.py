import re
from typing import NamedTuple

class Token(NamedTuple):
    kind: str
    value: str
    line: int
    column: int

def tokenize(code):
    keywords = {"IF", "THEN", "ENDIF", "PRINT"}
    spec = [("NUMBER", r"\d+(\.\d*)?"), ("ASSIGN", r":="), ("END", r";"), ("ID", r"[A-Za-z]+"), ("OP", r"[+\-*/]"),
            ("NEWLINE", r"\n"), ("SKIP", r"[ \t]+"), ("MISMATCH", r".")]
    line, start = 1, 0
    for mo in re.finditer("|".join(f"(?P<{n}>{p})" for n, p in spec), code):
        kind, value, column = mo.lastgroup, mo.group(), mo.start() - start
        if kind == "NEWLINE":
            start, line = mo.end(), line + 1
            continue
        if kind == "SKIP":
            continue
        if kind == "MISMATCH":
            raise RuntimeError(f"{value!r} unexpected on line {line}")
        if kind == "ID" and value in keywords:
            kind = value
        yield Token(kind, value, line, column)

for token in tokenize("IF quantity THEN\n  total := total + price * 1.5;\nENDIF;"):
    print(token)
