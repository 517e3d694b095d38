"""Names of commits and what is reachable from them: `HEAD~2`, `v1..main`, merge bases, histories."""

import heapq
import itertools
import os
import re

from _hatchway.git.base import Failure
from _hatchway.git.repository import short
from dulwich.objects import Commit, Tag, Tree

PLACES = (b"%b", b"refs/%b", b"refs/tags/%b", b"refs/heads/%b", b"refs/remotes/%b", b"refs/remotes/%b/HEAD")
SUFFIX = re.compile(rb"\^\{(\w*)\}|\^(\d*)|~(\d*)|@\{([^}]*)\}")
BAD_NAME = re.compile(rb"[\x00-\x20~^:?*\[\\\x7f]|\.\.|@\{|//|\.lock(/|$)|(^|/)\.|\.$|/$|^/|^-|^@$|^$")


def check_branch_name(name):
    if BAD_NAME.search(name) or name == b"HEAD":
        raise Failure(f"'{name.decode('utf-8', 'replace')}' is not a valid branch name")


def ambiguous(text):
    text = text.decode("utf-8", "replace")
    return Failure(
        f"ambiguous argument '{text}': unknown revision or path not in the working tree.\n"
        "Use '--' to separate paths from revisions, like this:\n'git <command> [<revision>...] -- [<file>...]'"
    )


def full_name(repo, text):
    """The ref that a short name means, or None."""
    for place in PLACES:
        name = place % text
        if (b"/" in name or name.isupper()) and name in repo.refs:
            try:
                repo.refs[name]
            except KeyError:
                continue
            return name
    return None


def resolve(repo, text):
    """The name of the object that `text` means."""
    found = find(repo, text)
    if found is None:
        raise ambiguous(text)
    return found


def find(repo, text):
    """As `resolve`; None if it means nothing."""
    text = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    if text == b"":
        return None
    colon = text.find(b":")
    if colon == 0:
        return find_staged(repo, text[1:])
    if colon > 0 and b"{" not in text[:colon]:
        return find_path(repo, text[:colon], text[colon + 1 :])
    return find_plain(repo, text)


def find_staged(repo, path):
    if path.startswith(b"/"):
        return next((name for name, commit in walk(repo, all_tips(repo)) if path[1:] in commit.message), None)
    stage, path = (int(path[:1]), path[2:]) if path[1:2] == b":" and path[:1].isdigit() else (0, path)
    entry = repo.index[path] if path in repo.index else None
    if entry is not None and hasattr(entry, "ancestor"):
        entry = {1: entry.ancestor, 2: entry.this, 3: entry.other}.get(stage)
    elif stage:
        entry = None
    if entry is None:
        raise Failure(f"path '{path.decode('utf-8', 'replace')}' does not exist (neither on disk nor in the index)")
    return entry.sha


def find_path(repo, revision, path):
    name = find_plain(repo, revision)
    if name is None:
        raise Failure(f"invalid object name '{revision.decode('utf-8', 'replace')}'.")
    name, told = peel(repo, name, Tree), path
    if path.startswith(b"./") and repo.folder:
        path = repo.folder + path[1:]
    for part in filter(None, path.removeprefix(b"./").split(b"/")):
        thing = repo.read(name)
        name = next((inner for one, _, inner in repo.tree_items(name) if one == part), None) if isinstance(thing, Tree) else None
        if name is None:
            raise Failure(f"path '{told.decode('utf-8', 'replace')}' does not exist in '{revision.decode('utf-8', 'replace')}'")
    return name


def find_plain(repo, text):
    cut = min((i for i in (text.find(b"^"), text.find(b"~"), text.find(b"@{")) if i >= 0), default=len(text))
    name = find_base(repo, text[:cut] or b"HEAD", text[cut:])
    while cut < len(text) and name is not None:
        found = SUFFIX.match(text, cut)
        if not found:
            return None
        cut = found.end()
        kind, parent, up, log = found.groups()
        if log is not None:
            continue
        if kind is not None:
            name = peel_to(repo, name, kind)
        elif up is not None:
            for _ in range(int(up or 1)):
                name = parent_of(repo, name, 1)
                if name is None:
                    break
        else:
            name = parent_of(repo, name, int(parent or 1))
    return name


def parent_of(repo, name, which):
    name = peel(repo, name, Commit)
    if which == 0:
        return name
    parents = repo.parents(name)
    return parents[which - 1] if which <= len(parents) else None


def find_base(repo, text, suffix):
    text = b"HEAD" if text == b"@" else text
    log = re.match(rb"@\{([^}]*)\}", suffix)
    if log:
        return find_logged(repo, text, log[1])
    ref = full_name(repo, text)
    if ref is not None:
        return repo.refs[ref]
    if re.fullmatch(rb"[0-9a-f]{40}", text):
        return text if text in repo.store else None
    if re.fullmatch(rb"[0-9a-fA-F]{4,39}", text):
        return find_short(repo, text.lower())
    described = re.fullmatch(rb".*-\d+-g([0-9a-f]{4,40})", text)
    return find_short(repo, described[1]) if described else None


def find_short(repo, text):
    found = list(itertools.islice(repo.store.iter_prefix(text), 50))
    if len(found) > 1:
        commits = [name for name in found if isinstance(repo.read(name), Commit)]
        found = commits if len(commits) == 1 else found
    if len(found) > 1:
        raise Failure(f"short object ID {text.decode()} is ambiguous", prefix="error: ")
    return found[0] if found else None


def find_logged(repo, text, log):
    if log in (b"u", b"upstream"):
        branch = repo.branch_name() if text == b"HEAD" else text
        found = upstream(repo, branch)
        if found is None:
            raise Failure(f"no upstream configured for branch '{(branch or b'').decode()}'")
        return repo.refs[found]
    if log.startswith(b"-"):
        found = previous_branch(repo, int(log[1:]))
        return None if found is None else find_plain(repo, found)
    name = full_name(repo, text)
    if name is None or not log.isdigit():
        return None
    entries = repo.read_log(name)
    at = int(log)
    if at < len(entries):
        return entries[at][1]
    if at == len(entries) and entries:
        return entries[-1][0]
    raise Failure(f"log for '{text.decode()}' only has {len(entries)} entries")


def previous_branch(repo, count):
    for *_, message in repo.read_log(b"HEAD"):
        moved = re.fullmatch(rb"checkout: moving from (\S+) to \S+", message)
        if moved:
            count -= 1
            if not count:
                return moved[1]
    return None


def upstream(repo, branch):
    """The remote-tracking branch of a branch, if it is set."""
    if branch is None:
        return None
    branch = branch.decode("utf-8", "surrogateescape")
    remote, merge = repo.setting(f"branch.{branch}.remote"), repo.setting(f"branch.{branch}.merge")
    if not remote or not merge:
        return None
    name = merge.encode() if remote == "." else b"refs/remotes/" + remote.encode() + b"/" + short(merge.encode())
    return name if name in repo.refs else None


def peel_to(repo, name, kind):
    if kind == b"":
        thing = repo.read(name)
        while isinstance(thing, Tag):
            name = thing.object[1]
            thing = repo.read(name)
        return name
    if kind == b"object":
        return name
    wanted = {b"commit": Commit, b"tree": Tree, b"tag": Tag}.get(kind)
    return peel(repo, name, wanted) if wanted else name


def peel(repo, name, wanted):
    for _ in range(100):
        thing = repo.read(name)
        if isinstance(thing, wanted):
            return name
        if isinstance(thing, Tag):
            name = thing.object[1]
        elif isinstance(thing, Commit) and wanted is Tree:
            name = thing.tree
        else:
            break
    raise Failure(f"{name.decode()} is not a {'commit' if wanted is Commit else 'tree'}")


def commit_named(repo, text):
    return peel(repo, resolve(repo, text), Commit)


def all_tips(repo, before=b"refs/"):
    found = []
    for name in sorted(repo.refs.allkeys()):
        if name.startswith(before) or (before == b"refs/" and name == b"HEAD"):
            try:
                found.append(peel(repo, repo.refs[name], Commit))
            except (KeyError, Failure):
                pass
    return found


# ---- histories ----


def walk(repo, tips, hidden=(), first_parent=False, follow=None):
    """(name, commit), newest first. `follow` says which parents to go on with, and whether the commit is shown."""
    dropped = reachable(repo, hidden) if hidden else set()
    heap, seen, order = [], set(), itertools.count()

    def push(name):
        if name not in seen and name not in dropped:
            seen.add(name)
            commit = repo.commit(name)
            heapq.heappush(heap, (-commit.commit_time, next(order), name, commit))

    for tip in tips:
        push(tip)
    while heap:
        *_, name, commit = heapq.heappop(heap)
        parents = repo.parents(name)[: 1 if first_parent else None]
        is_shown = True
        if follow:
            parents, is_shown = follow(name, commit, parents)
        for parent in parents:
            push(parent)
        if is_shown:
            yield name, commit


def reachable(repo, tips):
    seen, todo = set(), list(tips)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += repo.parents(name)
    return seen


def is_ancestor(repo, old, new):
    return old in reachable(repo, [new])


def merge_bases(repo, one, two):
    """The best common ancestors."""
    common = reachable(repo, [one]) & reachable(repo, [two])
    if not common:
        return []
    inner = set()
    for name in common:
        inner.update(repo.parents(name))
    best = common - inner
    return sorted(best, key=lambda name: -repo.commit(name).commit_time)


def parse_range(repo, words, default=b"HEAD"):
    """The tips to show and to hide, of words like `main`, `^v1`, `v1..main`, `a...b`."""
    tips, hidden = [], []
    for word in words:
        word = word.encode("utf-8", "surrogateescape") if isinstance(word, str) else word
        if b"..." in word:
            left, right = (commit_named(repo, one or b"HEAD") for one in word.split(b"...", 1))
            tips += [left, right]
            hidden += merge_bases(repo, left, right)
        elif b".." in word:
            left, right = word.split(b"..", 1)
            hidden.append(commit_named(repo, left or b"HEAD"))
            tips.append(commit_named(repo, right or b"HEAD"))
        elif word.startswith(b"^"):
            hidden.append(commit_named(repo, word[1:]))
        else:
            tips.append(commit_named(repo, word))
    if not tips and default is not None:
        tips = [commit_named(repo, default)]
    return tips, hidden


def separate(repo, options):
    """Revisions and paths among the words, as git guesses them."""
    if options.paths is not None:
        return [os.fsencode(word) for word in options.rest], options.paths
    words = [os.fsencode(word) for word in options.rest]
    for i, word in enumerate(words):
        if not is_revision(repo, word):
            for path in words[i:]:
                if not os.path.lexists(path) and not any(c in path for c in b"*?[") and not path.startswith(b":("):
                    raise ambiguous(path)
            return words[:i], words[i:]
    return words, []


def is_revision(repo, word):
    if b".." in word and not word.startswith((b"../", b"./")) and word != b"..":
        return all(not one or find_quietly(repo, one) for one in re.split(rb"\.\.\.?", word, maxsplit=1))
    return find_quietly(repo, word.removeprefix(b"^")) is not None


def find_quietly(repo, word):
    try:
        return find(repo, word)
    except Failure:
        return None


def decorations(repo):
    """The names at each commit, as `log --decorate` shows them."""
    found, head, branch = {}, repo.head(), repo.branch()
    if head is not None:
        found[head] = [b"HEAD -> " + short(branch) if branch else b"HEAD"]
    for name in sorted(repo.refs.allkeys(), reverse=True):
        if name == branch or not name.startswith((b"refs/heads/", b"refs/tags/", b"refs/remotes/", b"refs/stash")):
            continue
        try:
            target = peel(repo, repo.refs[name], Commit)
        except (KeyError, Failure):
            continue
        text = name if name == b"refs/stash" else short(name)
        found.setdefault(target, []).append(b"tag: " + text if name.startswith(b"refs/tags/") else text)
    return found
