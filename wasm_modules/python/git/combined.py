"""The diff of a file with conflicts: what the work tree has against both sides at once (`diff --cc`)."""

from _hatchway.git import lines
from _hatchway.git.base import quote, say
from _hatchway.git.worktree import look, read_file

CONTEXT = 3


def show_combined(repo, path, entry):
    sides = [repo.blob(one.sha) if one is not None else b"" for one in (entry.this, entry.other)]
    if entry.this is None or entry.other is None:
        say(b"* Unmerged path ", quote(path), b"\n")
        return
    st = look(repo, path)
    text = lines.split(read_file(repo, path, st) if st is not None else b"")
    parents = [lines.split(side) for side in sides]
    names = b",".join(one.sha[:7] for one in (entry.this, entry.other))
    say(b"diff --cc ", quote(path), b"\nindex ", names, b"..0000000\n")
    hunks = make_hunks(parents, text)
    if hunks:
        say(b"--- ", quote(path, b"a/"), b"\n+++ ", quote(path, b"b/"), b"\n", *hunks)


def make_hunks(parents, text):
    added = [[False] * len(text) for _ in parents]
    lost = [[[] for _ in range(len(text) + 1)] for _ in parents]
    places = [[0] * (len(text) + 1) for _ in parents]
    for n, parent in enumerate(parents):
        shift, at = 0, 0
        for a, b, removed, new in lines.compare(parent, text):
            for j in range(at, b + 1):
                places[n][j] = j + shift
            lost[n][b] = parent[a : a + removed]
            for j in range(b, b + new):
                added[n][j] = True
                places[n][j] = a + (removed if j > b else 0)
            shift, at = a + removed - b - new, b + new
        for j in range(at, len(text) + 1):
            places[n][j] = j + shift
    touched = [any(side[j] for side in added) or any(side[j] for side in lost) for j in range(len(text))] + [
        any(side[len(text)] for side in lost)
    ]
    return [
        hunk
        for start, end in ranges(touched, len(text))
        if is_wanted(added, lost, start, end)
        for hunk in show_hunk(text, added, lost, places, start, end)
    ]


def ranges(touched, size):
    found, j = [], 0
    while j <= size:
        if not touched[j]:
            j += 1
            continue
        start = max(0, j - CONTEXT)
        end = j
        while j <= size and j <= end + 2 * CONTEXT:
            if touched[j]:
                end = j
            j += 1
        end = min(size, end + 1 + CONTEXT)
        j = max(j, end)
        found.append((start, end))
    return found


def is_wanted(added, lost, start, end):
    """A hunk in which every side differs."""
    return all(
        any(side_added[start:end]) or any(side_lost[start : end + 1]) for side_added, side_lost in zip(added, lost, strict=True)
    )


def show_hunk(text, added, lost, places, start, end):
    counts = [
        sum(not side[j] for j in range(start, end)) + sum(len(part) for part in gone[start : end + (end == len(text))])
        for side, gone in zip(added, lost, strict=True)
    ]
    heads = [b"-%d,%d" % (places[n][start] + (1 if counts[n] else 0), counts[n]) for n in range(len(added))]
    found = [b"@@@ %b +%d,%d @@@\n" % (b" ".join(heads), start + 1, end - start)]
    for j in range(start, end + (end == len(text))):
        found += lost_lines([side[j] for side in lost])
        if j < end:
            signs = b"".join(b"+" if side[j] else b" " for side in added)
            found.append(signs + ended(text[j]))
    return found


def lost_lines(sides):
    """Lines that only one side had, or both."""
    one, two = sides
    found, i, _j = [], 0, 0
    for a, b, removed, new in [*lines.compare(one, two), (len(one), len(two), 0, 0)]:
        found += [b"--" + ended(line) for line in one[i:a]]
        found += [b"- " + ended(line) for line in one[a : a + removed]]
        found += [b" -" + ended(line) for line in two[b : b + new]]
        i, _j = a + removed, b + new
    return found


def ended(line):
    return line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
