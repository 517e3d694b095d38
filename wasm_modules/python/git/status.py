"""`git status`: for people, and for programs."""

import os

from _hatchway.git import changes, repository, revisions
from _hatchway.git.base import Failure, parse, quote, relative, say
from _hatchway.git.pretty import shorten
from _hatchway.git.worktree import Paths, Tree, refresh, untracked

LABELS = {"A": "new file:   ", "M": "modified:   ", "D": "deleted:    ", "R": "renamed:    ", "T": "typechange: "}
CONFLICTS = {
    "DD": "both deleted:    ", "AU": "added by us:     ", "UD": "deleted by them: ", "UA": "added by them:   ",
    "DU": "deleted by us:   ", "AA": "both added:      ", "UU": "both modified:   ",
}  # fmt: skip


class Status:
    """What a repository's HEAD, index and work tree differ in."""

    def __init__(self, repo, paths=None, untracked_files="normal", with_ignored=False):
        tree, staged = Tree(repo), repo.staged()
        matches = paths.matches if paths is not None else lambda path: True
        head = {path: entry for path, entry in repo.files(repo.head_tree()).items() if matches(path)}
        here = {path: entry for path, entry in staged.items() if matches(path)}
        self.unmerged = {path: conflict_kind(repo.index[path]) for path in repo.unmerged() if matches(path)}
        head = {path: entry for path, entry in head.items() if path not in self.unmerged}
        self.staged = changes.find(head, here, tree.read)
        there = tree.files(paths)
        self.changed = changes.find(here, {path: entry for path, entry in there.items() if path in here}, tree.read, False)
        self.ignored = [] if with_ignored else None
        if untracked_files == "no":
            self.untracked = []
        else:
            self.untracked = untracked(repo, untracked_files == "all", paths, self.ignored)

    @property
    def is_dirty(self):
        return bool(self.changed or self.unmerged)


def conflict_kind(entry):
    there = (entry.ancestor is not None, entry.this is not None, entry.other is not None)
    return {
        (True, False, False): "DD", (False, True, False): "AU", (True, True, False): "UD", (False, False, True): "UA",
        (True, False, True): "DU", (False, True, True): "AA", (True, True, True): "UU",
    }.get(there, "UU")  # fmt: skip


def status(args):
    o = parse(
        args,
        (
            "s|short porcelain? b|branch u|untracked-files? long z ignored? v|verbose "
            "renames no-renames ahead-behind show-stash column?"
        ),
    )
    repo = repository.find()
    repo.need_work_tree()
    words = [os.fsencode(word) for word in o.rest] + (o.paths or [])
    paths = Paths(repo, words) if words else None
    kept = o.untracked_files or ("all" if o.untracked_files == "" else repo.setting("status.showUntrackedFiles", "normal"))
    found = Status(repo, paths, kept, o.ignored is not None)
    if o.porcelain == "v2" or o.porcelain == "2":
        raise Failure("--porcelain=v2 is not supported here; use --porcelain")
    if o.short or o.porcelain is not None or o.z:
        show_short(repo, found, o)
    else:
        show_long(repo, found, kept=kept)
    try:
        refresh(repo)
        repo.write_index()
    except (OSError, repository.FileLocked):
        pass  # files that cannot be written can be looked at
    return 0


def show_short(repo, found, o):
    is_porcelain, end = o.porcelain is not None or bool(o.z), b"\0" if o.z else b"\n"
    folder = b"" if is_porcelain else repo.folder
    named = (lambda path: path) if o.z else (lambda path: quote(relative(path, folder), also_spaces=True))
    if o.branch:
        say(b"## ", branch_line(repo), end)
    lines = {}
    for c in found.staged:
        lines[c.new] = [c.kind, " ", c]
    for c in found.changed:
        lines.setdefault(c.new, [" ", " ", c])[1] = c.kind
    for path, kind in found.unmerged.items():
        lines[path] = [*kind, None]
    for path in sorted(lines):
        one, two, c = lines[path]
        text = named(path)
        if one == "R":
            text = text + b"\0" + c.old if o.z else named(c.old) + b" -> " + text
        say(f"{one}{two} ", text, end)
    for path in found.untracked:
        say(b"?? ", named(path), end)
    for path in sorted(found.ignored or ()):
        say(b"!! ", named(path), end)


def branch_line(repo):
    name = repo.branch_name()
    if repo.head() is None:
        return b"No commits yet on " + (name or b"")
    if name is None:
        return b"HEAD (no branch)"
    tracked = revisions.upstream(repo, name)
    if tracked is None:
        return name
    ahead, behind = count_apart(repo, repo.head(), repo.refs[tracked])
    parts = [b"ahead %d" % ahead] * bool(ahead) + [b"behind %d" % behind] * bool(behind)
    return name + b"..." + repository.short(tracked) + (b" [" + b", ".join(parts) + b"]" if parts else b"")


def count_apart(repo, one, two):
    left, right = revisions.reachable(repo, [one]), revisions.reachable(repo, [two])
    return len(left - right), len(right - left)


def tracking_text(repo, branch=None):
    """How the branch stands to the one that it follows."""
    name = branch or repo.branch_name()
    tracked = revisions.upstream(repo, name)
    if tracked is None:
        return b""
    shown = repository.short(tracked)
    ahead, behind = count_apart(repo, repo.refs[b"refs/heads/" + name], repo.refs[tracked])
    if not ahead and not behind:
        return b"Your branch is up to date with '%b'.\n" % shown
    if not behind:
        text = b"Your branch is ahead of '%b' by %d commit%b.\n" % (shown, ahead, b"s" * (ahead != 1))
        return text + b'  (use "git push" to publish your local commits)\n'
    if not ahead:
        text = b"Your branch is behind '%b' by %d commit%b, and can be fast-forwarded.\n" % (shown, behind, b"s" * (behind != 1))
        return text + b'  (use "git pull" to update your local branch)\n'
    return (
        b"Your branch and '%b' have diverged,\nand have %d and %d different commits each, respectively.\n"
        % (shown, ahead, behind)
        + b'  (use "git pull" to merge the remote branch into yours)\n'
    )


def under_way(repo, found):
    """What is not finished: a merge, a cherry-pick, a revert, a rebase."""
    exists = lambda name: os.path.exists(os.path.join(repo.git_dir, name))  # noqa: E731
    if exists(b"MERGE_HEAD"):
        if found.unmerged:
            return (
                b'You have unmerged paths.\n  (fix conflicts and run "git commit")\n  (use "git '
                b'merge --abort" to abort the merge)\n\n'
            )
        return b'All conflicts fixed but you are still merging.\n  (use "git commit" to conclude merge)\n\n'
    fix = b"fix conflicts and run" if found.unmerged else b"all conflicts fixed: run"
    if exists(b"rebase-merge"):
        verb = (
            b'  (fix conflicts and then run "git rebase --continue")\n'
            if found.unmerged
            else b'  (all conflicts fixed: run "git rebase --continue")\n'
        )
        return b"You are currently rebasing.\n" + verb + b'  (use "git rebase --abort" to check out the original branch)\n\n'
    for name, doing, verb in (
        (b"CHERRY_PICK_HEAD", b"cherry-picking", b"cherry-pick"),
        (b"REVERT_HEAD", b"reverting", b"revert"),
    ):
        if exists(name):
            with open(os.path.join(repo.git_dir, name), "rb") as file:
                commit = shorten(repo, file.read().strip())
            return (
                b"You are currently %b commit %b.\n" % (doing, commit)
                + b'  (%b "git %b --continue")\n' % (fix, verb)
                + b'  (use "git %b --skip" to skip this patch)\n' % verb
                + b'  (use "git %b --abort" to cancel the %b operation)\n\n' % (verb, verb)
            )
    return b""


def show_long(repo, found, kept="normal", is_amend=False):
    name, is_first = repo.branch_name(), repo.head() is None
    if name is not None:
        say(b"On branch ", name, b"\n")
    else:
        at = next((m for *_, m in repo.read_log(b"HEAD") if m.startswith(b"checkout: moving from ")), b"").rpartition(b" to ")[2]
        target = revisions.find_quietly(repo, at) if at else None
        shown = shorten(repo, at) if len(at) == 40 else at
        if target is not None:
            target = revisions.peel_to(repo, target, b"")
        say(
            b"HEAD detached %b " % (b"at" if target == repo.head() else b"from") + shown
            if at
            else b"Not currently on any branch.",
            b"\n",
        )
    tracking = tracking_text(repo) if not is_first else b""
    say(tracking, b"\n" if tracking else b"", under_way(repo, found))
    if is_first:
        say(b"\nNo commits yet\n\n")
    show_sections(repo, found, is_first)
    if found.staged:
        if kept == "no":
            say(b"Untracked files not listed (use -u option to show untracked files)\n")
        return
    if is_amend:
        say(b"No changes\n")
    elif found.is_dirty:
        say(b'no changes added to commit (use "git add" and/or "git commit -a")\n')
    elif found.untracked:
        say(b'nothing added to commit but untracked files present (use "git add" to track)\n')
    elif is_first:
        say(b'nothing to commit (create/copy files and use "git add" to track)\n')
    elif kept == "no":
        say(b"nothing to commit (use -u to show untracked files)\n")
    else:
        say(b"nothing to commit, working tree clean\n")


def is_merging(repo):
    return any(os.path.exists(os.path.join(repo.git_dir, name)) for name in (b"MERGE_HEAD", b"CHERRY_PICK_HEAD"))


def show_sections(repo, found, is_first):
    named = lambda path: quote(relative(path, repo.folder))  # noqa: E731
    unstage = (
        b'  (use "git rm --cached <file>..." to unstage)\n'
        if is_first
        else b'  (use "git restore --staged <file>..." to unstage)\n'
    )
    if found.staged:
        say(b"Changes to be committed:\n", b"" if is_merging(repo) else unstage)
        for c in found.staged:
            say("\t", LABELS[c.kind], named(c.old) + b" -> " + named(c.new) if c.kind == "R" else named(c.new), "\n")
        say("\n")
    if found.unmerged:
        is_gone = any("D" in kind for kind in found.unmerged.values())
        say(b"Unmerged paths:\n", b"" if is_merging(repo) else unstage)
        verb = b"git add/rm" if is_gone else b"git add"
        say(b'  (use "%b <file>..." %b)\n' % (verb, b"as appropriate to mark resolution" if is_gone else b"to mark resolution"))
        for path, kind in found.unmerged.items():
            say("\t", CONFLICTS[kind], named(path), "\n")
        say("\n")
    if found.changed:
        verb = b"git add/rm" if any(c.kind == "D" for c in found.changed) else b"git add"
        say(b"Changes not staged for commit:\n", b'  (use "%b <file>..." to update what will be committed)\n' % verb)
        say(b'  (use "git restore <file>..." to discard changes in working directory)\n')
        for c in found.changed:
            say("\t", LABELS[c.kind], named(c.new), "\n")
        say("\n")
    if found.untracked:
        say(b'Untracked files:\n  (use "git add <file>..." to include in what will be committed)\n')
        for path in found.untracked:
            say("\t", named(path), "\n")
        say("\n")
    if found.ignored:
        say(b'Ignored files:\n  (use "git add -f <file>..." to include in what will be committed)\n')
        for path in sorted(found.ignored):
            say("\t", named(path), "\n")
        say("\n")
