"""Three-way merges: of lines, with markers where both sides changed the same ones, and of whole trees, with renames."""

import stat
from typing import NamedTuple

from _hatchway.git import changes, lines
from _hatchway.git.base import Failure
from _hatchway.git.patches import is_binary


class Part(NamedTuple):
    """`kind`: 0 both sides, 1 ours alone, 2 theirs alone, 4 the same. Places and sizes in base, ours and theirs."""

    kind: int
    at: tuple
    size: tuple


def merge_lines(base, ours, theirs, names):
    """The merged contents, and how many conflicts there are. `names` stand at the markers."""
    base, ours, theirs = (lines.split(side) for side in (base, ours, theirs))
    parts = join(lines.compare(base, ours), lines.compare(base, theirs), (base, ours, theirs))
    parts = simplify([one for part in parts for one in refine(part, ours, theirs)])
    found, at, conflicts = [], 0, 0
    for part in parts:
        _, own, other = part.at
        if part.kind == 0:
            conflicts += 1
            found += ours[at:own]
            found += [b"<<<<<<< " + names[0] + b"\n", *ended(ours[own : own + part.size[1]]), b"=======\n"]
            found += [*ended(theirs[other : other + part.size[2]]), b">>>>>>> " + names[1] + b"\n"]
        elif part.kind == 2:
            found += ours[at:own] + theirs[other : other + part.size[2]]
        else:
            continue
        at = own + part.size[1]
    return b"".join(found + ours[at:]), conflicts


def ended(text):
    return [*text[:-1], text[-1] if text[-1].endswith(b"\n") else text[-1] + b"\n"] if text else []


def join(left, right, sides):
    base, ours, theirs = sides
    found, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        a, b = left[i], right[j]
        if a[0] + a[2] < b[0]:
            append(found, 1, (a[0], a[1], b[1] - b[0] + a[0]), (a[2], a[3], a[2]))
            i += 1
            continue
        if b[0] + b[2] < a[0]:
            append(found, 2, (b[0], a[1] - a[0] + b[0], b[1]), (b[2], b[2], b[3]))
            j += 1
            continue
        is_same = a[0] == b[0] and a[2:] == b[2:] and ours[a[1] : a[1] + a[3]] == theirs[b[1] : b[1] + b[3]]
        if not is_same:
            append(found, 0, *overlap(a, b))
        end, other_end = a[0] + a[2], b[0] + b[2]
        j += end >= other_end
        i += other_end >= end
    for a in left[i:]:
        append(found, 1, (a[0], a[1], a[0] + len(theirs) - len(base)), (a[2], a[3], a[2]))
    for b in right[j:]:
        append(found, 2, (b[0], b[0] + len(ours) - len(base), b[1]), (b[2], b[2], b[3]))
    return found


def overlap(a, b):
    off = a[0] - b[0]
    rest = off + a[2] - b[2]
    at = [a[0], a[1], b[1]]
    if off > 0:
        at[0] -= off
        at[1] -= off
    else:
        at[2] += off
    size = [a[0] + a[2] - at[0], a[1] + a[3] - at[1], b[1] + b[3] - at[2]]
    if rest < 0:
        size[0] -= rest
        size[1] -= rest
    else:
        size[2] += rest
    return tuple(at), tuple(size)


def append(found, kind, at, size):
    last = found[-1] if found else None
    if last and (at[1] <= last.at[1] + last.size[1] or at[2] <= last.at[2] + last.size[2]):
        grown = tuple(at[k] + size[k] - last.at[k] for k in range(3))
        found[-1] = Part(last.kind if last.kind == kind else 0, last.at, grown)
    else:
        found.append(Part(kind, at, size))


def refine(part, ours, theirs):
    """Takes what both sides have out of a conflict."""
    if part.kind or not part.size[1] or not part.size[2]:
        return [part]
    _, own, other = part.at
    script = lines.compare(ours[own : own + part.size[1]], theirs[other : other + part.size[2]])
    if not script:
        return [part._replace(kind=4)]
    return [Part(0, (part.at[0], own + a, other + b), (0, removed, added)) for a, b, removed, added in script]


def simplify(parts):
    """Conflicts with up to three lines between them are one."""
    found = []
    for part in parts:
        last = found[-1] if found else None
        if last and last.kind == 0 and part.kind == 0 and part.at[1] - (last.at[1] + last.size[1]) <= 3:
            grown = tuple(part.at[k] + part.size[k] - last.at[k] for k in range(3))
            found[-1] = Part(0, last.at, grown)
        else:
            found.append(part)
    return found


class Merged(NamedTuple):
    """`files` is what the work tree gets, `conflicts` {path: the three sides}, `told` what is said on the way."""

    files: dict
    conflicts: dict
    told: list


def merge_trees(repo, base, ours, theirs, names):
    """`base`, `ours` and `theirs` are {path: (mode, name)}. `names` are those of the two sides."""
    base, ours, theirs = dict(base), dict(ours), dict(theirs)
    follow_renames(repo, base, ours, theirs)
    follow_renames(repo, base, theirs, ours)
    files, conflicts, told = {}, {}, []
    for path in sorted({*base, *ours, *theirs}):
        b, o, t = base.get(path), ours.get(path), theirs.get(path)
        if o == t or b == t:
            chosen = o
        elif b == o:
            chosen = t
        else:
            chosen = merge_file(repo, path, (b, o, t), names, conflicts, told)
        if chosen is not None:
            files[path] = chosen
    folders = {path[:i] for path in files for i, byte in enumerate(path) if byte == 47}
    for path in files:
        if path in folders:
            shown = path.decode("utf-8", "replace")
            raise Failure(f"one side has a file and the other a folder called '{shown}': rename one of them first", 1, "error: ")
    return Merged(files, conflicts, told)


def follow_renames(repo, base, side, other):
    gone = {path: entry for path, entry in base.items() if path not in side}
    come = {path: entry for path, entry in side.items() if path not in base}
    for c in changes.find(gone, come, lambda path, name: repo.blob(name)):
        if c.kind == "R" and c.new not in other:
            if c.old in other:
                other[c.new] = other.pop(c.old)
                base[c.new] = base.pop(c.old)
        elif c.kind == "R" and c.new in other and c.old not in other:
            base[c.new] = base.pop(c.old, None) or base[c.new]


def merge_file(repo, path, sides, names, conflicts, told):
    base, ours, theirs = sides
    shown = path.decode("utf-8", "surrogateescape")
    if ours is None or theirs is None:
        gone, there = (names[0], names[1]) if ours is None else (names[1], names[0])
        gone, there = (text.decode("utf-8", "surrogateescape") for text in (gone, there))
        told.append(
            f"CONFLICT (modify/delete): {shown} deleted in {gone} and modified in {there}.  "
            f"Version {there} of {shown} left in tree.\n"
        )
        conflicts[path] = sides
        return ours or theirs
    mode = ours[0] if base is None or ours[0] != base[0] else theirs[0]
    if ours[1] == theirs[1]:
        if base is None or base[0] not in (ours[0], theirs[0]):
            conflicts[path] = sides
        return mode, ours[1]
    if not all(stat.S_ISREG(side[0]) for side in (ours, theirs)):
        kind = "submodule" if changes.MODULE in (ours[0], theirs[0]) else "content"
        told.append(f"CONFLICT ({kind}): Merge conflict in {shown}\n")
        conflicts[path] = sides
        return ours
    if base is not None and base[1] in (ours[1], theirs[1]):
        return mode, theirs[1] if base[1] == ours[1] else ours[1]
    contents = [repo.blob(side[1]) if side and stat.S_ISREG(side[0]) else b"" for side in sides]
    if any(map(is_binary, contents)):
        text = tuple(name.decode("utf-8", "surrogateescape") for name in names)
        told.append(f"warning: Cannot merge binary files: {shown} ({text[0]} vs. {text[1]})\n")
        told += [f"Auto-merging {shown}\n", f"CONFLICT (content): Merge conflict in {shown}\n"]
        conflicts[path] = sides
        return ours
    merged, count = merge_lines(*contents, names)
    told.append(f"Auto-merging {shown}\n")
    if count:
        told.append(f"CONFLICT ({'content' if base else 'add/add'}): Merge conflict in {shown}\n")
        conflicts[path] = sides
    return mode, repo.add_blob(merged)
