"""A commit as text: `--format` and its short forms."""

import re

from _hatchway.git import dates
from _hatchway.git.base import Failure

NAMED = {"oneline", "short", "medium", "full", "fuller", "reference", "raw"}
PLACE = re.compile(
    rb"%([-+ ]?)(x[0-9a-fA-F]{2}|a[nNeElLdDrtiIsh]|c[nNeElLdDrtiIsh]|C\([^)]*\)|C(?:red|green|blue|reset)|"
    rb"[<>]{1,2}\|?\([^)]*\)|G[?GSKFPT]|g[dDsneNE]|\(trailers[^)]*\)|\(describe[^)]*\)|[a-zA-Z%])",
    re.DOTALL,
)
PERSON = re.compile(rb"(.*?) ?<([^>]*)>.*", re.DOTALL)


def of_option(text):
    """The format that `--format=` or `--pretty=` names, and whether it ends each commit's text with a newline."""
    if text in NAMED:
        return text, True
    if text.startswith("format:"):
        return text[7:].encode("utf-8", "surrogateescape"), False
    if text.startswith("tformat:"):
        return text[8:].encode("utf-8", "surrogateescape"), True
    if "%" in text:
        return text.encode("utf-8", "surrogateescape"), True
    raise Failure(f"invalid --pretty format: {text}")


class Formatter:
    def __init__(self, repo, kind="medium", date="default", short_names=False, names=None):
        self.repo, self.kind, self.date, self.short_names, self.names = repo, kind, date, short_names, names

    def abbreviate(self, name):
        return shorten(self.repo, name)

    def show(self, name, commit):
        """The text, without a newline at its end in formats of one's own."""
        if isinstance(self.kind, bytes):
            return self.expand(name, commit)
        return getattr(self, "show_" + self.kind)(name, commit)

    def decorate(self, name):
        found = (self.names or {}).get(name)
        return b" (" + b", ".join(found) + b")" if found else b""

    def shown_name(self, name):
        return self.abbreviate(name) if self.short_names else name

    def show_oneline(self, name, commit):
        return self.shown_name(name) + self.decorate(name) + b" " + subject(commit)

    def show_reference(self, name, commit):
        date = dates.show(commit.author_time, commit.author_timezone, "short" if self.date == "default" else self.date)
        return self.abbreviate(name) + b" (" + subject(commit) + b", " + date.encode() + b")"

    def show_medium(self, name, commit, lines=("Author", "Date:   ")):
        who = {"Author": commit.author, "Commit": commit.committer}
        found = [b"commit " + self.shown_name(name) + self.decorate(name)]
        parents = self.repo.parents(name)
        if len(parents) > 1:
            found.append(b"Merge: " + b" ".join(self.abbreviate(parent) for parent in parents))
        width = 12 if "AuthorDate: " in lines else 8
        for line in lines:
            if line in who:
                found.append(f"{line}:".ljust(width).encode() + who[line])
            else:
                is_commit = line.startswith("Commit")
                at = (commit.commit_time, commit.commit_timezone) if is_commit else (commit.author_time, commit.author_timezone)
                found.append(line.encode() + dates.show(*at, self.date).encode())
        message = commit.message.rstrip(b"\n").split(b"\n") if lines[-1] != "Author" else [subject(commit)]
        body = [b"    " + expand_tabs(line) for line in message] if any(message) else []
        return b"\n".join([*found, b"", *body]) if body else b"\n".join([*found, b""])

    def show_short(self, name, commit):
        return self.show_medium(name, commit, ("Author",)) + b"\n"

    def show_full(self, name, commit):
        return self.show_medium(name, commit, ("Author", "Commit"))

    def show_fuller(self, name, commit):
        return self.show_medium(name, commit, ("Author", "AuthorDate: ", "Commit", "CommitDate: "))

    def show_raw(self, name, commit):
        head, _, message = commit.as_raw_string().partition(b"\n\n")
        text = b"\n".join(b"    " + line for line in message.rstrip(b"\n").split(b"\n"))
        return b"commit " + name + self.decorate(name) + b"\n" + head + b"\n\n" + text

    def expand(self, name, commit):
        found, at, pad = [], 0, None
        for match in PLACE.finditer(self.kind):
            found.append(self.kind[at : match.start()])
            at = match.end()
            sign, key = match[1], match[2]
            if key[:1] in b"<>":
                pad = key
                continue
            text = self.value(key, name, commit)
            if text is None:
                text = match[0]
            elif sign == b"+" and text:
                text = b"\n" + text
            elif sign == b" " and text:
                text = b" " + text
            elif sign == b"-" and not text and found:
                found[-1] = found[-1].rstrip(b"\n")
            if pad:
                text, pad = padded(text, pad), None
            found.append(text)
        return b"".join([*found, self.kind[at:]])

    def value(self, key, name, commit):
        if key[:1] in b"ac" and len(key) == 2:
            return self.of_person(key, commit)
        if key[:1] == b"x":
            return bytes((int(key[1:], 16),))
        simple = {
            b"H": lambda: name,
            b"h": lambda: self.abbreviate(name),
            b"T": lambda: commit.tree,
            b"t": lambda: self.abbreviate(commit.tree),
            b"P": lambda: b" ".join(self.repo.parents(name)),
            b"p": lambda: b" ".join(map(self.abbreviate, self.repo.parents(name))),
            b"s": lambda: subject(commit),
            b"f": lambda: re.sub(rb"[^A-Za-z0-9_.]+", b"-", subject(commit)).strip(b"-."),
            b"b": lambda: body(commit),
            b"B": lambda: commit.message,
            b"d": lambda: self.decorate(name),
            b"D": lambda: b", ".join((self.names or {}).get(name, ())),
            b"n": lambda: b"\n",
            b"%": lambda: b"%",
            b"m": lambda: b">",
            b"e": lambda: commit.encoding or b"",
            b"N": lambda: b"",
        }
        if key in simple:
            return simple[key]()
        if key[:1] == b"C" or (key[:1] in b"gG" and len(key) == 2):
            return b"N" if key == b"G?" else b""
        if key.startswith((b"(trailers", b"(describe")):
            raise Failure(f"%{key.decode()} is not supported here; use %b")
        return None

    def of_person(self, key, commit):
        is_author = key[:1] == b"a"
        who = PERSON.match(commit.author if is_author else commit.committer)
        at = (commit.author_time, commit.author_timezone) if is_author else (commit.commit_time, commit.commit_timezone)
        styles = {b"d": self.date, b"D": "rfc", b"r": "relative", b"t": "unix", b"i": "iso", b"I": "iso-strict", b"s": "short"}
        style = styles.get(key[1:])
        if style:
            return dates.show(*at, style).encode()
        name, address = who.groups() if who else (b"", b"")
        if key[1:] in b"nN":
            return name
        if key[1:] in b"eE":
            return address
        return address.partition(b"@")[0] if key[1:] in b"lL" else dates.show(*at, "human").encode()


def padded(text, pad):
    side, _, inner = pad.rstrip(b")").partition(b"(")
    width, *cut = inner.split(b",")
    shown, room = text.decode("utf-8", "surrogateescape"), int(width)
    if cut and len(shown) > room:
        shown = shown[: max(0, room - 2)] + ".."
    made = shown.rjust(room) if side.startswith(b">") else shown.ljust(room)
    return made.encode("utf-8", "surrogateescape")


def expand_tabs(line):
    return line.expandtabs(8) if b"\t" in line else line


def subject(commit):
    return subject_of(commit.message)


def subject_of(message):
    lines = message.lstrip(b"\n").split(b"\n\n", 1)[0].split(b"\n")
    return b" ".join(line.strip() for line in lines if line.strip())


def body(commit):
    return commit.message.lstrip(b"\n").partition(b"\n\n")[2].lstrip(b"\n")


def shorten(repo, name, length=7):
    """As short as it is unique, from 7 characters on. git asks for more of them in large repositories."""
    while length < 40 and sum(1 for _ in repo.store.iter_prefix(name[: length - length % 2])) > 1:
        matching = [one for one in repo.store.iter_prefix(name[: length - length % 2]) if one.startswith(name[:length])]
        if len(matching) < 2:
            break
        length += 1
    return name[:length]
