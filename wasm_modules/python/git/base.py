"""What every command of `git` has in common: failures, output, paths as git quotes them, options.

Paths, names and contents are bytes, as they are in a repository.
"""

import os
import sys


class Failure(Exception):
    """Ends the command: what is said on stderr, with what before it, and the exit status."""

    def __init__(self, message, status=128, prefix="fatal: "):
        super().__init__(message)
        self.text, self.status = prefix + message, status


class Usage(Failure):
    def __init__(self, message):
        super().__init__(message, 129, "error: ")


def say(*parts):
    for part in parts:
        sys.stdout.buffer.write(part if isinstance(part, bytes) else os.fsencode(part))


def tell(text):
    """To stderr, after what was printed."""
    sys.stdout.flush()
    sys.stderr.buffer.write(text if isinstance(text, bytes) else os.fsencode(text))
    sys.stderr.flush()


ESCAPES = {7: b"\\a", 8: b"\\b", 9: b"\\t", 10: b"\\n", 11: b"\\v", 12: b"\\f", 13: b"\\r", 34: b'\\"', 92: b"\\\\"}
SPECIAL = frozenset([*range(32), 34, 92, *range(127, 256)])


def read_whole(path):
    with open(path, "rb") as file:
        return file.read()


def quote(path, before=b"", also_spaces=False):
    """As C has it, if a byte needs that. `before` (`a/`) is within the quotes."""
    if not SPECIAL.intersection(path):
        return b'"%b%b"' % (before, path) if also_spaces and b" " in path else before + path
    quoted = b"".join(ESCAPES.get(byte) or (b"\\%03o" % byte if byte in SPECIAL else bytes((byte,))) for byte in path)
    return b'"%b%b"' % (before, quoted)


def relative(path, folder):
    """`path` of the repository as seen from `folder` of it."""
    if not folder:
        return path
    found = os.path.relpath(b"/" + path.rstrip(b"/"), b"/" + folder)
    return found + b"/" if path.endswith(b"/") else found


class Options:
    """What was given, by each option's first name; `rest` are the other words, `paths` those behind `--`, or None."""

    def __init__(self):
        self.given, self.rest, self.paths = {}, [], None

    def __getattr__(self, name):
        return self.given.get(name.replace("_", "-"))

    def get(self, name):
        return self.given.get(name)

    def put(self, spec, value):
        name, is_list, taken, negative = spec
        if negative:
            self.given[name] = False
        elif is_list:
            self.given.setdefault(name, []).append(value)
        else:
            self.given[name] = value if taken else True


def specify(text):
    """`a|all m*|message= abbrev?` to a table: `=` takes a value, `?` may have one behind `=`, `*` may come more than once."""
    table = {}
    for word in text.split():
        names = word.rstrip("=?*").split("|")
        kind, is_list = next((c for c in word[::-1] if c in "=?"), ""), word.endswith("*")
        key = max(names, key=len)
        for name in names:
            table[name] = (key, is_list, kind, False)
        if len(key) > 1 and not kind:
            table.setdefault("no-" + key, (key, is_list, kind, True))
    return table


def parse(args, text, numbers=None):
    """`numbers`: the option that `-3` is short for."""
    table, found, args = specify(text), Options(), list(args)
    while args:
        word = args.pop(0)
        if word == "--":
            found.paths = [os.fsencode(path) for path in args]
            break
        if word == "-" or not word.startswith("-"):
            found.rest.append(word)
        elif word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if name not in table:
                longer = {spec[0]: spec for key, spec in table.items() if key.startswith(name) and len(name) > 2}
                if len(longer) != 1:
                    raise Usage(f"unknown option `{name}'")
                table[name] = next(iter(longer.values()))
            spec = table[name]
            if spec[2] == "=" and not equals:
                if not args:
                    raise Usage(f"option `{name}' requires a value")
                value = args.pop(0)
            found.put(spec, value)
        elif numbers and word[1:].isdigit():
            found.given[numbers] = word[1:]
        else:
            parse_letters(word[1:], table, args, found)
    return found


def parse_letters(letters, table, args, found):
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter not in table:
            raise Usage(f"unknown switch `{letter}'")
        spec, value = table[letter], ""
        if spec[2] == "=" and not letters:
            if not args:
                raise Usage(f"switch `{letter}' requires a value")
            value = args.pop(0)
        elif spec[2]:
            value, letters = letters, ""
        found.put(spec, value)


def number(text, what):
    try:
        return int(text)
    except ValueError:
        raise Failure(f"{what}: not an integer") from None
