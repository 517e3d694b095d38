"""Changes as text: patches, statistics, names."""

import os
from typing import NamedTuple

from _hatchway.git import changes as changes_room
from _hatchway.git import lines
from _hatchway.git.base import Failure, number, quote, relative, say

OPTIONS = (
    "p|u|patch s|no-patch stat? numstat shortstat name-only name-status raw summary U|unified= cached|staged no-renames"
    " M|find-renames? R w|ignore-all-space b|ignore-space-change ignore-blank-lines no-color color? word-diff? full-index binary"
    " diff-filter= exit-code quiet no-ext-diff no-prefix check z abbrev? minimal patience histogram text a relative? S= G="
    " ignore-space-at-eol stat-width= compact-summary no-index ignore-submodules? indent-heuristic function-context W"
)
UNSUPPORTED = ("word-diff", "raw", "check", "ignore-blank-lines", "function-context", "compact-summary")
SHORT = 7


class Style(NamedTuple):
    """What to print of changes, and how."""

    patch: bool = True
    stat: bool = False
    numstat: bool = False
    shortstat: bool = False
    names: bool = False
    status: bool = False
    summary: bool = False
    context: int = 3
    spaces: str = ""
    full_names: bool = False
    only: str = ""
    prefixes: tuple = (b"a/", b"b/")
    end: bytes = b"\n"
    labels: tuple | None = None


def style_of(options, default_patch=True):
    for name in UNSUPPORTED:
        if options.get(name):
            raise Failure(f"--{name} is not supported here; use the plain patch, --stat, --numstat, --name-only or --name-status")
    kinds = {
        "stat": options.get("stat") is not None,
        "numstat": bool(options.numstat),
        "shortstat": bool(options.shortstat),
        "names": bool(options.name_only),
        "status": bool(options.name_status),
        "summary": bool(options.summary),
    }
    context = options.unified
    patch = bool(options.patch or context) or (default_patch and not any(kinds.values()))
    spaces = "w" if options.get("ignore-all-space") else "b" if options.get("ignore-space-change") else ""
    spaces = spaces or ("e" if options.get("ignore-space-at-eol") else "")
    return Style(
        patch=patch and not options.no_patch,
        **kinds,
        context=3 if context is None else number(context, context),
        spaces=spaces,
        full_names=bool(options.full_index),
        only=options.get("diff-filter") or "",
        prefixes=(b"", b"") if options.get("no-prefix") else (b"a/", b"b/"),
        end=b"\0" if options.z else b"\n",
    )


def is_binary(data):
    return b"\0" in data[:8000]


def keep(changes, only):
    if not only:
        return changes
    wanted, unwanted = {c for c in only if c.isupper()}, {c.upper() for c in only if c.islower()}
    return [c for c in changes if (not wanted or c.kind in wanted) and c.kind not in unwanted]


def show(changes, read, style, folder=b""):
    """Prints them. `read` gives the contents of (path, name). Whether there were any."""
    changes = keep(changes, style.only)
    counted = None
    if style.stat or style.numstat or style.shortstat:
        counted = [(c, *count(c, read, style)) for c in changes]
    if style.status or style.names:
        for c in changes:
            show_name(c, style, folder)
    if style.numstat:
        for c, added, removed, is_bin in counted:
            say(b"-\t-\t" if is_bin else b"%d\t%d\t" % (added, removed), rename_text(c), style.end)
    if style.stat:
        show_stat(counted, read)
    if style.stat or style.shortstat:
        show_totals(counted)
    if style.summary:
        show_summary(changes)
    if style.patch:
        if changes and (style.stat or style.numstat or style.shortstat or style.summary):
            say(b"\n")
        for c in changes:
            show_patch(c, read, style)
    return bool(changes)


def show_name(c, style, folder):
    paths = [relative(path, folder) for path in ((c.old, c.new) if c.kind == "R" else (c.new,))]
    if style.end == b"\n":
        paths = [quote(path) for path in paths]
    if style.names:
        say(paths[-1], style.end)
    else:
        kind = f"R{c.score * 100 // changes_room.SCORE_MAX:03}" if c.kind == "R" else c.kind
        between = b"\t" if style.end == b"\n" else b"\0"
        say(kind, between, between.join(paths), style.end)


def contents(c, read):
    return tuple(b"" if name is None else of_module(mode, name, read, path) for path, mode, name in sides(c))


def sides(c):
    return (c.old, c.old_mode, c.old_name), (c.new, c.new_mode, c.new_name)


def of_module(mode, name, read, path):
    return b"Subproject commit %b\n" % name if mode == changes_room.MODULE else read(path, name)


def count(c, read, style):
    """Lines added and removed, and whether it is binary."""
    if c.kind == "U" or (c.old_name == c.new_name and c.old_name is not None):
        return 0, 0, False
    old, new = contents(c, read)
    if is_binary(old) or is_binary(new):
        return 0, 0, True
    script = compare(lines.split(old), lines.split(new), style.spaces)
    return sum(one[3] for one in script), sum(one[2] for one in script), False


def compare(old, new, spaces):
    if spaces:
        old, new = ([normal(line, spaces) for line in side] for side in (old, new))
    return lines.compare(old, new)


def normal(line, spaces):
    if spaces == "w":
        return b"".join(line.split())
    if spaces == "e":
        return line.rstrip()
    words = line.split()
    return (b" " if line[:1] in (b" ", b"\t") and words else b"") + b" ".join(words)


def rename_text(c):
    """`a/{b => c}/d`."""
    if c.kind != "R":
        return quote(c.new)
    old, new = c.old, c.new
    if quote(old) != old or quote(new) != new:
        return quote(old) + b" => " + quote(new)
    before = 0
    for i in range(min(len(old), len(new))):
        if old[i] != new[i]:
            break
        if old[i] == 47:
            before = i + 1
    behind, i = 0, 1
    least = before - 1 if before else 0
    while len(old) - i >= least and len(new) - i >= least and i <= min(len(old), len(new)) and old[-i] == new[-i]:
        if old[-i] == 47:
            behind = i
        i += 1
    if not before and not behind:
        return old + b" => " + new
    middle_old = old[before : max(before, len(old) - behind)]
    middle_new = new[before : max(before, len(new) - behind)]
    tail = old[len(old) - behind :] if behind else b""
    return old[:before] + b"{" + middle_old + b" => " + middle_new + b"}" + tail


def show_stat(counted, read):
    if not counted:
        return
    names = [rename_text(c) for c, *_ in counted]
    most = max((added + removed for _, added, removed, is_bin in counted if not is_bin), default=0)
    digits, bin_width = len(str(most)), 0
    for c, _, _, is_bin in counted:
        if is_bin:
            digits = max(digits, 3)
            sizes = [len(data) for data in contents(c, read)]
            bin_width = max(bin_width, 14 + sum(len(str(size)) for size in sizes))
    width = max(number(os.environ.get("COLUMNS") or "80", "COLUMNS"), 22 + digits)
    name_width = max(len(name.decode("utf-8", "replace")) for name in names)
    graph = most if most + 4 > bin_width else bin_width - 4
    if name_width + digits + 6 + graph > width:
        if graph > width * 3 // 8 - digits - 6:
            graph = max(6, width * 3 // 8 - digits - 6)
        if name_width > width - digits - 6 - graph:
            name_width = width - digits - 6 - graph
        else:
            graph = width - digits - 6 - name_width
    for name, (c, added, removed, is_bin) in zip(names, counted, strict=True):
        text = name.decode("utf-8", "surrogateescape")
        if len(text) > name_width:
            text = text[len(text) - name_width + 3 :]
            text = "..." + (text[text.find("/") :] if "/" in text else text)
        say(f" {text}{' ' * (name_width - len(text))} | ")
        if c.kind == "U":
            say(b"Unmerged\n")
        elif is_bin:
            sizes = tuple(len(data) for data in contents(c, read))
            say("Bin".rjust(digits), b"\n" if c.old_name == c.new_name else b" %d -> %d bytes\n" % sizes)
        else:
            plus, minus = scale(added, removed, graph, most)
            total = added + removed
            say(str(total).rjust(digits), b" " if total else b"", b"+" * plus, b"-" * minus, b"\n")


def scale(added, removed, graph, most):
    if graph > most:
        return added, removed

    def linear(it):
        return 1 + it * (graph - 1) // most if it else 0

    total = linear(added + removed)
    if total < 2 and added and removed:
        total = 2
    if added < removed:
        return linear(added), total - linear(added)
    return total - linear(removed), linear(removed)


def show_totals(counted):
    files = len({c.new for c, *_ in counted if c.kind != "U"})
    added, removed = (sum(one[i] for one in counted) for i in (1, 2))
    if not files:
        return
    text = f" {files} file{'s' * (files != 1)} changed"
    if added or not removed:
        text += f", {added} insertion{'s' * (added != 1)}(+)"
    if removed or not added:
        text += f", {removed} deletion{'s' * (removed != 1)}(-)"
    say(text, b"\n")


def show_summary(changes):
    for c in changes:
        if c.kind == "A":
            say(b" create mode %06o " % c.new_mode, quote(c.new), b"\n")
        elif c.kind == "D":
            say(b" delete mode %06o " % c.old_mode, quote(c.old), b"\n")
        elif c.kind == "R":
            say(b" rename ", rename_text(c), f" ({c.score * 100 // changes_room.SCORE_MAX}%)\n")
        if c.kind in "MTR" and c.old_mode != c.new_mode:
            modes = b" mode change %06o => %06o" % (c.old_mode, c.new_mode)
            say(modes, b"\n" if c.kind == "R" else b" " + quote(c.new) + b"\n")


def show_patch(c, read, style):
    if c.kind == "U":
        say(b"* Unmerged path ", quote(c.new), b"\n")
        return
    if c.kind == "T":
        one = (c.old, c.new)
        show_patch(changes_room.Change("D", *one, c.old_mode, 0, c.old_name, None), read, style)
        show_patch(changes_room.Change("A", *one, 0, c.new_mode, None, c.new_name), read, style)
        return
    old_label, new_label = (quote(path, before) for path, before in zip((c.old, c.new), style.prefixes, strict=True))
    head = [b"diff --git %b %b\n" % (old_label, new_label)]
    if c.kind == "A":
        head.append(b"new file mode %06o\n" % c.new_mode)
    elif c.kind == "D":
        head.append(b"deleted file mode %06o\n" % c.old_mode)
    elif c.old_mode != c.new_mode:
        head.append(b"old mode %06o\nnew mode %06o\n" % (c.old_mode, c.new_mode))
    if c.kind == "R":
        score = c.score * 100 // changes_room.SCORE_MAX
        head.append(b"similarity index %d%%\nrename from %b\nrename to %b\n" % (score, quote(c.old), quote(c.new)))
    if c.old_name == c.new_name:
        say(*head)
        return
    old, new = contents(c, read)
    if style.spaces and c.kind == "M" and c.old_mode == c.new_mode and not compare(*map(lines.split, (old, new)), style.spaces):
        return
    length = 40 if style.full_names else SHORT
    names = [(name or b"0" * 40)[:length] for name in (c.old_name, c.new_name)]
    mode = b" %06o" % c.new_mode if c.kind in "MR" and c.old_mode == c.new_mode else b""
    head.append(b"index %b..%b%b\n" % (*names, mode))
    old_label, new_label = (
        b"/dev/null" if name is None else label + (b"\t" if b" " in path and not label.startswith(b'"') else b"")
        for label, name, path in ((old_label, c.old_name, c.old), (new_label, c.new_name, c.new))
    )
    say(*head)
    if is_binary(old) or is_binary(new):
        say(b"Binary files %b and %b differ\n" % (old_label.rstrip(b"\t"), new_label.rstrip(b"\t")))
        return
    hunks = make_hunks(lines.split(old), lines.split(new), style.context, style.spaces)
    if hunks:
        say(b"--- %b\n+++ %b\n" % (old_label, new_label), *hunks)


def make_hunks(old, new, context, spaces=""):
    script, found, i = compare(old, new, spaces), [], 0
    title, looked = b"", -1
    while i < len(script):
        j = i
        while j + 1 < len(script) and script[j + 1][0] - (script[j][0] + script[j][2]) <= 2 * context:
            j += 1
        first, final = script[i], script[j]
        before = min(context, first[0], first[1])
        start, new_start = first[0] - before, first[1] - before
        after = min(context, len(old) - final[0] - final[2], len(new) - final[1] - final[3])
        end, new_end = final[0] + final[2] + after, final[1] + final[3] + after
        for n in range(min(start, len(old)) - 1, looked, -1):
            if old[n][:1].isalpha() or old[n][:1] in (b"_", b"$"):
                title = b" " + old[n].rstrip()[:80].rstrip()
                break
        looked = max(looked, start - 1)
        found.append(b"@@ -%b +%b @@%b\n" % (span(start, end), span(new_start, new_end), title))
        at = new_start
        for a, b, removed, added in script[i : j + 1]:
            found += [mark(b" ", line) for line in new[at:b]]
            found += [mark(b"-", line) for line in old[a : a + removed]]
            found += [mark(b"+", line) for line in new[b : b + added]]
            at = b + added
        found += [mark(b" ", line) for line in new[at:new_end]]
        i = j + 1
    return found


def span(start, end):
    size = end - start
    return b"%d" % (start + 1) if size == 1 else b"%d,%d" % (start + 1 if size else start, size)


def mark(sign, line):
    return sign + line if line.endswith(b"\n") else sign + line + b"\n\\ No newline at end of file\n"
