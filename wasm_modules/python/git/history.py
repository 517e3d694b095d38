"""Commands that show commits: log, show, reflog, shortlog."""

import os
import re

from _hatchway.git import changes, dates, lines, patches, repository, revisions
from _hatchway.git.base import Failure, number, parse, say
from _hatchway.git.commits import NO_COMMITS
from _hatchway.git.pretty import Formatter, of_option, shorten, subject_of
from _hatchway.git.worktree import Paths
from dulwich.objects import Blob, Tag
from dulwich.objects import Tree as TreeObject

LOG = (
    patches.OPTIONS + " oneline n|max-count= skip= all branches? tags? remotes? author= committer= "
    "grep=* i|regexp-ignore-case since|after= until|before= reverse"
    " merges no-merges first-parent format|pretty=? date= abbrev-commit decorate? no-decorate graph follow topo-order date-order"
    " L= g|walk-reflogs c cc m E|extended-regexp F|fixed-strings invert-grep "
    "full-history simplify-merges no-notes notes? no-abbrev-commit"
    " relative-date root left-right cherry-pick source show-signature diff-merges= "
    "dense sparse ancestry-path encoding= no-mailmap mailmap log-size "
    "no-show-signature"
)


def formatter_of(repo, o, default="medium"):
    kind, ends = default, True
    if o.oneline:
        kind = "oneline"
    if o.format:
        kind, ends = of_option(o.format)
    date = o.date or ("relative" if o.relative_date else repo.setting("log.date", "default"))
    wants_names = o.decorate not in (None, False, "no") or o.decorate == ""
    if isinstance(kind, bytes):
        wants_names = b"%d" in kind or b"%D" in kind
    names = revisions.decorations(repo) if wants_names else None
    is_short = bool(o.oneline or o.abbrev_commit) and not o.no_abbrev_commit
    return Formatter(repo, kind, date, is_short, names), ends


def log(args):
    o = parse(args, LOG, "max-count")
    repo = repository.find()
    if o.walk_reflogs:
        return reflog(["show", *[word for word in args if word not in ("-g", "--walk-reflogs")]])
    for name in ("L", "cherry-pick", "ancestry-path"):
        if o.get(name):
            raise Failure(f"-{'-' * (len(name) > 1)}{name} is not supported here")
    words, paths = revisions.separate(repo, o)
    tips, hidden = log_tips(repo, o, words)
    style = patches.style_of(o, default_patch=False)
    shows_changes = style.patch or style.stat or style.numstat or style.shortstat or style.names or style.status or style.summary
    formatter, ends = formatter_of(repo, o)
    chosen = Paths(repo, paths) if paths else None
    follow = Follow(repo, chosen, o) if chosen else None
    found = select(repo, o, revisions.walk(repo, tips, hidden, bool(o.first_parent), follow))
    found = found if not o.reverse else reversed(list(found))
    is_first = True
    for name, made in found:
        if o.graph and len(made.parents) > 1:
            raise Failure("--graph draws only histories without merges here; leave it out")
        show_commit(repo, name, made, formatter, ends, is_first, b"* " if o.graph else b"")
        if shows_changes:
            show_changes(repo, name, made, style, formatter, ends, follow.paths_of(name) if follow else None, o)
        is_first = False
    if not is_first and not ends and not shows_changes:
        say(b"\n")
    return 0


def log_tips(repo, o, words):
    extra = []
    for kind, before in (("all", b"refs/"), ("branches", b"refs/heads/"), ("tags", b"refs/tags/"), ("remotes", b"refs/remotes/")):
        if o.get(kind) is not None:
            extra += revisions.all_tips(repo, before)
    if not words and not extra and repo.head() is None:
        raise Failure(NO_COMMITS.format(os.fsdecode(repo.branch_name() or b"HEAD")))
    tips, hidden = revisions.parse_range(repo, words, None if extra else b"HEAD")
    return [*tips, *extra], hidden


class Follow:
    """Leaves out commits that do not touch the paths, as `log -- PATH` does."""

    def __init__(self, repo, paths, o):
        self.repo, self.paths, self.renames = repo, paths, bool(o.follow)
        self.known = {}
        self.full = bool(o.full_history)

    def part(self, name):
        if name is None:
            return {}
        if name not in self.known:
            files = self.repo.files(self.repo.commit(name).tree)
            self.known[name] = {path: entry for path, entry in files.items() if self.paths.matches(path)}
        return self.known[name]

    def paths_of(self, name):
        return self.known.get((name, "paths"), self.paths)

    def __call__(self, name, commit, parents):
        own = self.part(name)
        if not parents:
            return parents, bool(own)
        for parent in parents:
            if self.part(parent) == own and not self.full:
                return [parent], False
        if self.renames and len(parents) == 1 and own and not self.part(parents[0]):
            self.known[name, "paths"] = self.paths
            self.trace(name, parents[0])
        return parents, True

    def trace(self, name, parent):
        files = [self.repo.files(self.repo.commit(one).tree) for one in (parent, name)]
        for c in changes.find(*files, lambda path, blob: self.repo.blob(blob)):
            if c.kind == "R" and self.paths.matches(c.new):
                old = Paths(self.repo, [b":/" + c.old])
                self.known[name, "paths"] = Both(self.paths, old)
                self.paths, kept = old, self.known
                self.known = {key: value for key, value in kept.items() if isinstance(key, tuple)}


class Both:
    def __init__(self, one, two):
        self.one, self.two = one, two

    def matches(self, path):
        return self.one.matches(path) or self.two.matches(path)


def select(repo, o, commits):
    flags = re.IGNORECASE if o.regexp_ignore_case else 0
    made = [re.escape(word) if o.fixed_strings else word for word in o.grep or ()]
    try:
        wanted = [re.compile(word.encode(), flags | re.MULTILINE) for word in made]
        author, committer = (re.compile(word.encode(), flags) if word else None for word in (o.author, o.committer))
    except re.error as error:
        raise Failure(f"bad pattern: {error}") from None
    since, until = (dates.since(word) if word else None for word in (o.since, o.until))
    skip, left = number(o.skip or "0", "skip"), number(o.max_count, o.max_count) if o.max_count else -1
    pieces = [(o.get("S"), False), (o.get("G"), True)]
    for name, commit in commits:
        if left == 0:
            return
        if since is not None and commit.commit_time < since:
            continue
        if until is not None and commit.commit_time > until:
            continue
        if (o.no_merges and len(commit.parents) > 1) or (o.merges and len(commit.parents) < 2):
            continue
        if (author and not author.search(commit.author)) or (committer and not committer.search(commit.committer)):
            continue
        if wanted and bool(o.invert_grep) == any(one.search(commit.message) for one in wanted):
            continue
        if any(text and not touches(repo, name, commit, text, is_pattern) for text, is_pattern in pieces):
            continue
        if skip:
            skip -= 1
            continue
        left -= 1
        yield name, commit


def touches(repo, name, commit, text, is_pattern):
    read = lambda path, blob: repo.blob(blob)  # noqa: E731
    for c in commit_changes(repo, name, commit, renames=False):
        old, new = patches.contents(c, read)
        if is_pattern:
            hunks = patches.make_hunks(lines.split(old), lines.split(new), 0)
            if any(re.search(text.encode(), line[1:]) for line in hunks if line[:1] in b"+-"):
                return True
        elif old.count(text.encode()) != new.count(text.encode()):
            return True
    return False


def commit_changes(repo, name, commit, paths=None, renames=True):
    parents = repo.parents(name)
    old = repo.files(repo.commit(parents[0]).tree) if parents else {}
    new = repo.files(commit.tree)
    if paths is not None:
        old, new = ({path: entry for path, entry in side.items() if paths.matches(path)} for side in (old, new))
    return changes.find(old, new, lambda path, blob: repo.blob(blob), renames)


def show_commit(repo, name, commit, formatter, ends, is_first, before=b""):
    text = formatter.show(name, commit)
    if formatter.kind in ("oneline", "reference") or (isinstance(formatter.kind, bytes) and ends):
        say(before, text, b"\n" if text or ends else b"")
    elif isinstance(formatter.kind, bytes):
        say(b"" if is_first else b"\n", before, text)
    else:
        if before:
            text = b"\n".join((b"* " if i == 0 else b"  ") + line for i, line in enumerate(text.split(b"\n")))
        say(b"" if is_first else b"\n", text, b"\n")


def show_changes(repo, name, commit, style, formatter, ends, paths=None, o=None):
    if len(commit.parents) > 1 and not (o is not None and (o.m or o.first_parent)):
        return
    found = commit_changes(repo, name, commit, paths, not (o and o.no_renames))
    if not found:
        return
    if formatter.kind not in ("oneline", "reference") and not (isinstance(formatter.kind, bytes) and style.stat is None):
        if isinstance(formatter.kind, bytes) and not ends:
            say(b"\n")
        if formatter.kind != "oneline":
            if style.patch and style.stat:
                say(b"---\n")
            else:
                say(b"\n" if not isinstance(formatter.kind, bytes) or ends else b"")
    patches.show(found, lambda path, blob: repo.blob(blob), style)


def show(args):
    o = parse(args, LOG, "max-count")
    repo = repository.find()
    words, paths = revisions.separate(repo, o)
    style = patches.style_of(o)
    formatter, ends = formatter_of(repo, o)
    is_first = True
    for word in words or [b"HEAD"]:
        if b".." in word:
            tips, hidden = revisions.parse_range(repo, [word])
            names = [name for name, _ in revisions.walk(repo, tips, hidden)]
        else:
            names = [revisions.resolve(repo, word)]
        for name in names:
            show_thing(repo, name, word, (style, formatter, ends, o), paths, is_first)
            is_first = False
    return 0


def show_thing(repo, name, word, how, paths, is_first):
    style, formatter, ends, o = how
    thing = repo.read(name)
    while isinstance(thing, Tag):
        who = thing.tagger or b""
        say(b"" if is_first else b"\n", b"tag ", thing.name, b"\nTagger: ", who, b"\n")
        say(b"Date:   ", dates.show(thing.tag_time or 0, thing.tag_timezone or 0, formatter.date), b"\n\n", thing.message, b"\n")
        name, is_first = thing.object[1], True
        thing = repo.read(name)
    if isinstance(thing, Blob):
        say(thing.data)
    elif isinstance(thing, TreeObject):
        say(b"tree ", word, b"\n\n")
        for path, mode, _ in repo.tree_items(name):
            say(path, b"/\n" if mode == repository.TREE else b"\n")
    else:
        show_commit(repo, name, thing, formatter, ends, is_first)
        shows = style.patch or style.stat or style.numstat or style.shortstat or style.names or style.status or style.summary
        if isinstance(formatter.kind, bytes) and not ends and (not shows or not commit_changes(repo, name, thing)):
            say(b"\n")
        if shows:
            show_changes(repo, name, thing, style, formatter, ends, Paths(repo, paths) if paths else None, o)


def reflog(args):
    if args[:1] and args[0] in ("expire", "delete"):
        return 0
    o = parse([word for word in args if word != "show"], LOG, "max-count")
    repo = repository.find()
    word = os.fsencode(o.rest[0]) if o.rest else b"HEAD"
    name = revisions.full_name(repo, word) or word
    for i, (_, new, _, message) in enumerate(repo.read_log(name)):
        if o.max_count and i >= int(o.max_count):
            break
        if new in repo.store:
            say(shorten(repo, new), b" %b@{%d}: %b\n" % (word, i, message))
    return 0


def shortlog(args):
    o = parse(args, "s|summary n|numbered e|email all no-merges c", None)
    repo = repository.find()
    tips, hidden = revisions.parse_range(repo, o.rest)
    tips = revisions.all_tips(repo) if o.all else tips
    people = {}
    for _, commit in revisions.walk(repo, tips, hidden):
        if not (o.no_merges and len(commit.parents) > 1):
            who = commit.author if o.email else commit.author.partition(b" <")[0]
            people.setdefault(who, []).append(subject_of(commit.message))
    for who, subjects in sorted(people.items(), key=lambda one: (-len(one[1]) if o.numbered else 0, one[0])):
        if o.summary:
            say(b"%6d\t%b\n" % (len(subjects), who))
        else:
            say(b"%b (%d):\n" % (who, len(subjects)), *[b"      %b\n" % text for text in reversed(subjects)], b"\n")
    return 0
