"""What differs between two sets of files: added, deleted, changed, renamed.

A set is {path: (mode, name)}; the contents behind a name come from a function, so that files of the work tree can be in one.
"""

import stat
from collections import Counter
from typing import NamedTuple

MODULE = 0o160000
RENAMES_MAX = 400
SCORE_MAX = 60000


class Change(NamedTuple):
    kind: str  # A D M T R U
    old: bytes
    new: bytes
    old_mode: int
    new_mode: int
    old_name: bytes | None
    new_name: bytes | None
    score: int = 0


def find(old, new, read, with_renames=True):
    """In the order of paths. `read` gives the contents of (path, name) of either side."""
    found = []
    for path in sorted({*old, *new}):
        before, after = old.get(path), new.get(path)
        if before == after:
            continue
        if before is None:
            found.append(Change("A", path, path, 0, after[0], None, after[1]))
        elif after is None:
            found.append(Change("D", path, path, before[0], 0, before[1], None))
        else:
            kind = "M" if stat.S_IFMT(before[0]) == stat.S_IFMT(after[0]) else "T"
            found.append(Change(kind, path, path, *(before[0], after[0]), before[1], after[1]))
    return find_renames(found, read) if with_renames else found


def find_renames(changes, read):
    gone = [c for c in changes if c.kind == "D" and stat.S_ISREG(c.old_mode)]
    come = [c for c in changes if c.kind == "A" and stat.S_ISREG(c.new_mode)]
    if not gone or not come:
        return changes
    pairs = pair_equal(gone, come)
    taken = {source.old for source in pairs.values()}
    gone = [c for c in gone if c.old not in taken]
    come = [c for c in come if c.new not in pairs]
    scores = {new: SCORE_MAX for new in pairs}
    if gone and come and len(gone) * len(come) <= RENAMES_MAX * RENAMES_MAX:
        pair_similar(gone, come, read, pairs, scores)
    sources = {source.old for source in pairs.values()}
    made = []
    for c in changes:
        if c.kind == "A" and c.new in pairs:
            source = pairs[c.new]
            made.append(Change("R", source.old, c.new, source.old_mode, c.new_mode, source.old_name, c.new_name, scores[c.new]))
        elif not (c.kind == "D" and c.old in sources):
            made.append(c)
    return made


def last(path):
    return path.rpartition(b"/")[2]


def pair_equal(gone, come):
    by_name, pairs, taken = {}, {}, set()
    for c in gone:
        by_name.setdefault(c.old_name, []).append(c)
    for c in come:
        candidates = [g for g in by_name.get(c.new_name, ()) if g.old not in taken]
        if candidates:
            best = next((g for g in candidates if last(g.old) == last(c.new)), candidates[0])
            pairs[c.new] = best
            taken.add(best.old)
    return pairs


def pair_similar(gone, come, read, pairs, scores):
    counted = {}

    def count(path, name):
        if (path, name) not in counted:
            data = read(path, name)
            counted[path, name] = (len(data), count_pieces(data))
        return counted[path, name]

    def rate(source, target, least):
        return similarity(count(source.old, source.old_name), count(target.new, target.new_name), least)

    def unique(changes, path_of):
        names = Counter(last(path_of(c)) for c in changes)
        return {last(path_of(c)): c for c in changes if names[last(path_of(c))] == 1}

    left, right = unique(gone, lambda c: c.old), unique(come, lambda c: c.new)
    for name in [name for name in right if name in left]:
        score = rate(left[name], right[name], SCORE_MAX * 3 // 4)
        if score >= SCORE_MAX * 3 // 4:
            pairs[right[name].new], scores[right[name].new] = left[name], score
    taken = {source.old for source in pairs.values()}
    rated = []
    for i, target in enumerate(come):
        if target.new in pairs:
            continue
        for j, source in enumerate(gone):
            if source.old not in taken:
                score = rate(source, target, SCORE_MAX // 2)
                if score >= SCORE_MAX // 2:
                    rated.append((-score, last(source.old) != last(target.new), i, j))
    for minus, _, i, j in sorted(rated):
        source, target = gone[j], come[i]
        if target.new not in pairs and source.old not in taken:
            pairs[target.new], scores[target.new] = source, -minus
            taken.add(source.old)


def count_pieces(data):
    """Bytes by piece: lines, cut after 64 bytes."""
    found = Counter()
    is_text = b"\0" not in data[:8000]
    for line in data.split(b"\n"):
        line += b"\n"
        if is_text and line.endswith(b"\r\n"):
            line = line[:-2] + b"\n"
        for i in range(0, len(line), 64):
            piece = line[i : i + 64]
            found[piece] += len(piece)
    if not data.endswith(b"\n"):
        tail = (data.rpartition(b"\n")[2] + b"\n")[len(data.rpartition(b"\n")[2]) // 64 * 64 :]
        found[tail] -= len(tail)
        if len(tail) > 1:
            found[tail[:-1]] += len(tail) - 1
    else:
        found[b"\n"] -= 1
    return found


def similarity(old, new, least):
    most, base = max(old[0], new[0]), min(old[0], new[0])
    if not base or most * (SCORE_MAX - least) < (most - base) * SCORE_MAX:
        return 0
    common = sum(min(size, new[1].get(piece, 0)) for piece, size in old[1].items() if size > 0)
    return common * SCORE_MAX // most
