"""Commands that make commits and show them: commit, log, show, diff."""

import os
import re
import sys

from _hatchway.git import changes, dates, lines, patches, repository, revisions, status
from _hatchway.git.base import Failure, number, parse, read_whole, say, tell
from _hatchway.git.pretty import Formatter, of_option, shorten, subject_of
from _hatchway.git.staging import stage_changes
from _hatchway.git.worktree import Paths, Tree
from dulwich.objects import Blob, Commit, Tag
from dulwich.objects import Tree as TreeObject

NO_COMMITS = "your current branch '{}' does not have any commits yet"


# ---- commit ----


def commit(args):
    o = parse(
        args,
        (
            "m|message=* a|all amend allow-empty allow-empty-message F|file= q|quiet author= "
            "date= no-edit e|edit n|no-verify s|signoff"
            " C|reuse-message= reset-author o|only i|include v|verbose no-gpg-sign "
            "S|gpg-sign? p|patch dry-run fixup= cleanup= trailer=* no-status no-post-rewrite "
            "short porcelain"
        ),
    )
    if o.patch or o.get("fixup") or o.gpg_sign is not None:
        raise Failure("there is no terminal and no gpg here: use git commit -m MESSAGE")
    repo = repository.find()
    repo.need_work_tree()
    words = [os.fsencode(word) for word in o.rest] + (o.paths or [])
    head = repo.head()
    if o.amend and head is None:
        raise Failure("You have nothing yet to amend.")
    merging = read_state(repo, b"MERGE_HEAD")
    if o.all:
        stage_changes(repo, Paths(repo, [b":/"]))
    files = commit_files(repo, words, merging)
    if files is None:
        return 1
    old = repo.commit(head) if head is not None else None
    parents = old.parents if o.amend else [*([head] if head else []), *merging.split()]
    before = repo.files(repo.commit(parents[0]).tree) if parents else {}
    if files == before and not (o.allow_empty or o.amend or merging):
        repo.write_index()
        status.show_long(repo, status.Status(repo))
        return 1
    if o.dry_run:
        status.show_long(repo, status.Status(repo))
        return 0
    made = make_commit(repo, o, files, parents, old if o.amend else None)
    repo.write_index()
    name = repo.add(made)
    first = subject_of(made.message)
    what = "commit (amend)" if o.amend else "commit (merge)" if merging else "commit (initial)" if head is None else "commit"
    repo.set_ref(b"HEAD", name, f"{what}: {os.fsdecode(first)}")
    for state in (b"MERGE_HEAD", b"MERGE_MSG", b"MERGE_MODE", b"CHERRY_PICK_HEAD", b"REVERT_HEAD", b"SQUASH_MSG"):
        forget(repo, state)
    if not o.quiet:
        show_made(repo, name, made, before, is_dated=bool(o.amend or o.date or o.reuse_message))
    return 0


def commit_files(repo, words, merging):
    if repo.unmerged():
        listed = "".join(f"U\t{os.fsdecode(path)}\n" for path in repo.unmerged())
        say(listed)
        raise Failure(
            "Exiting because of an unresolved conflict.",
            prefix="error: Committing is not possible because you have unmerged files.\n"
            "hint: Fix them up in the work tree, and then use 'git add/rm <file>'\n"
            "hint: as appropriate to mark resolution and make a commit.\nfatal: ",
        )
    if not words:
        return repo.staged()
    paths = Paths(repo, words)
    if not stage_changes(repo, paths):
        raise Failure(f"pathspec '{os.fsdecode(words[0])}' did not match any file(s) known to git", 1, "error: ")
    files = dict(repo.files(repo.head_tree()))
    staged = repo.staged()
    for path in {*files, *staged}:
        if paths.matches(path):
            if path in staged:
                files[path] = staged[path]
            else:
                files.pop(path, None)
    return dict(sorted(files.items()))


def make_commit(repo, o, files, parents, amended):
    source = amended
    if o.reuse_message:
        source = repo.commit(revisions.commit_named(repo, o.reuse_message.encode()))
    picked = read_state(repo, b"CHERRY_PICK_HEAD").strip()
    author_of = source or (repo.commit(picked) if picked else None)
    made = Commit()
    made.tree, made.parents = repo.write_tree(files), parents
    made.committer, made.commit_time, made.commit_timezone = repo.person("COMMITTER")
    made.author, made.author_time, made.author_timezone = repo.person("AUTHOR")
    if author_of is not None and not o.reset_author:
        made.author, made.author_time, made.author_timezone = author_of.author, author_of.author_time, author_of.author_timezone
        made._author_timezone_neg_utc = author_of._author_timezone_neg_utc
    if o.author:
        if not re.fullmatch(r".*<.*>", o.author):
            raise Failure(f"--author '{o.author}' is not 'Name <email>' and matches no existing author")
        made.author = os.fsencode(o.author)
    if o.date:
        made.author_time, made.author_timezone = dates.read_or_fail(o.date)
    made.message = message_of(repo, o, source)
    if o.signoff:
        line = b"Signed-off-by: " + repo.person("COMMITTER")[0] + b"\n"
        made.message += line if re.search(rb"\n\n(\S+: .*\n)+$", made.message) else b"\n" + line
    for trailer in o.trailer or ():
        key, _, value = re.split("([:=])", trailer, maxsplit=1)
        line = f"{key}: {value.strip()}\n".encode()
        made.message += line if re.search(rb"\n\n(\S+: .*\n)+$", made.message) else b"\n" + line
    if not made.message.strip() and not o.allow_empty_message:
        tell("Aborting commit due to empty commit message.\n")
        raise SystemExit(1)
    return made


def message_of(repo, o, source):
    if o.message:
        return tidy(
            "\n\n".join(part.rstrip("\n") if i < len(o.message) - 1 else part for i, part in enumerate(o.message)).encode(
                "utf-8", "surrogateescape"
            )
        )
    if o.file:
        try:
            text = sys.stdin.buffer.read() if o.file == "-" else read_whole(o.file)
        except OSError:
            raise Failure(f"could not read log file '{o.file}': No such file or directory") from None
        return tidy(text)
    if source is not None:
        return source.message
    prepared = read_state(repo, b"MERGE_MSG") or read_state(repo, b"SQUASH_MSG")
    if prepared:
        return tidy(b"\n".join(line for line in prepared.split(b"\n") if not line.startswith(b"#")))
    tell("error: there is no terminal for an editor here; give the message with -m or -F.\n")
    raise SystemExit(1)


def tidy(message):
    """Without blank lines at its ends, runs of them, and spaces at the ends of lines."""
    found = []
    for line in message.split(b"\n"):
        line = line.rstrip()
        if line or (found and found[-1]):
            found.append(line)
    while found and not found[-1]:
        found.pop()
    return b"\n".join(found) + b"\n" if found else b""


def show_made(repo, name, made, before, is_dated=False):
    branch = repo.branch_name() or b"detached HEAD"
    root = b"" if made.parents else b" (root-commit)"
    say(b"[", branch, root, b" ", shorten(repo, name), b"] ", subject_of(made.message), b"\n")
    if made.author != made.committer:
        say(b" Author: ", made.author, b"\n")
    if is_dated:
        say(b" Date: ", dates.show(made.author_time, made.author_timezone), b"\n")
    if len(made.parents) < 2:
        found = changes.find(before, repo.files(made.tree), lambda path, name: repo.blob(name))
        patches.show(found, lambda path, name: repo.blob(name), patches.Style(patch=False, shortstat=True, summary=True))


def read_state(repo, name):
    try:
        with open(os.path.join(repo.git_dir, name), "rb") as file:
            return file.read()
    except OSError:
        return b""


def write_state(repo, name, data):
    with open(os.path.join(repo.git_dir, name), "wb") as file:
        file.write(data)


def forget(repo, name):
    try:
        os.unlink(os.path.join(repo.git_dir, name))
    except OSError:
        pass


# ---- log, show ----

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


# ---- diff ----


def diff(args):
    o = parse(args, patches.OPTIONS + " merge-base ours base theirs")
    if o.no_index:
        return diff_files([*o.rest, *map(os.fsdecode, o.paths or [])], o)
    try:
        repo = repository.find()
    except Failure:
        both = [*o.rest, *map(os.fsdecode, o.paths or [])]
        if len(both) == 2:
            return diff_files(both, o)
        raise
    words, paths = revisions.separate(repo, o)
    style = patches.style_of(o)
    chosen = Paths(repo, paths) if paths else None
    keep = lambda files: {p: e for p, e in files.items() if chosen is None or chosen.matches(p)}  # noqa: E731
    read = lambda path, name: repo.blob(name)  # noqa: E731
    unmerged = []
    if b"..." in (words or [b""])[0]:
        left, right = (revisions.commit_named(repo, one or b"HEAD") for one in words[0].split(b"...", 1))
        bases = revisions.merge_bases(repo, left, right)
        if not bases:
            raise Failure(f"{os.fsdecode(words[0])}: no merge base")
        old, new = tree_files(repo, bases[0]), tree_files(repo, right)
    elif len(words) == 2 or b".." in (words or [b""])[0]:
        pair = words if len(words) == 2 else words[0].split(b"..", 1)
        left, right = (revisions.resolve(repo, one or b"HEAD") for one in pair)
        if isinstance(repo.read(left), Blob):
            return diff_blobs(repo, pair, (left, right), style, o)
        old, new = tree_files(repo, left), tree_files(repo, right)
    elif len(words) > 2:
        raise Failure("diffs of more than two commits are not supported here; name two")
    elif o.cached:
        unmerged = [path for path in repo.unmerged() if chosen is None or chosen.matches(path)]
        at = revisions.resolve(repo, words[0]) if words else repo.head()
        old, new = ({} if at is None else tree_files(repo, at)), repo.staged()
        old = {path: entry for path, entry in old.items() if path not in unmerged}
    else:
        repo.need_work_tree()
        tree = Tree(repo)
        read = tree.read
        unmerged = [path for path in repo.unmerged() if chosen is None or chosen.matches(path)] if not words else []
        there = tree.files(chosen)
        old = tree_files(repo, revisions.resolve(repo, words[0])) if words else repo.staged()
        new = {path: entry for path, entry in there.items() if path not in unmerged or words}
    found = changes.find(keep(old), keep(new), read, not o.no_renames)
    if unmerged:
        found = show_unmerged(repo, unmerged, found, style, o)
    is_any = bool(patches.keep(found, style.only)) if o.quiet else patches.show(found, read, style)
    return 1 if is_any and (o.exit_code or o.quiet) else 0


def tree_files(repo, name):
    return repo.files(revisions.peel(repo, name, TreeObject))


def show_unmerged(repo, unmerged, found, style, o):
    """Files with conflicts: named, or with both sides' changes together."""
    if o.cached or not style.patch:
        extra = [changes.Change("U", path, path, 0, 0, None, None) for path in unmerged]
        if not o.cached:
            extra += against_ours(repo, unmerged)
        return sorted([*extra, *found], key=lambda c: c.new)
    from _hatchway.git.combined import show_combined

    for path in unmerged:
        show_combined(repo, path, repo.index[path])
    return found


def against_ours(repo, unmerged):
    tree = Tree(repo)
    ours = {path: repo.index[path].this for path in unmerged}
    old = {path: (entry.mode, entry.sha) for path, entry in ours.items() if entry is not None}
    new = {path: entry for path in unmerged if (entry := tree.entry(path, None)) is not None}
    for _path, data in tree.contents.items():
        repo.add_blob(data)
    return changes.find(old, new, tree.read, False)


def diff_blobs(repo, words, names, style, o):
    labels = [word.rpartition(b":")[2] for word in words]
    c = changes.Change("M", labels[0], labels[1], 0o100644, 0o100644, *names)
    if names[0] != names[1]:
        patches.show([c], lambda path, name: repo.blob(name), style)
    return 1 if o.exit_code and names[0] != names[1] else 0


def diff_files(words, o):
    """`--no-index`: two files that are in no repository."""
    contents = []
    for word in words[:2]:
        try:
            contents.append(read_whole(word) if word != "/dev/null" else b"")
        except OSError:
            raise Failure(f"Could not access '{word}'", 1, "error: ") from None
    old, new = (os.fsencode(word).lstrip(b"/") for word in words[:2])
    names = [None if word == "/dev/null" else Blob.from_string(data).id for word, data in zip(words, contents, strict=False)]
    if names[0] == names[1]:
        return 0
    kind = "A" if names[0] is None else "D" if names[1] is None else "M"
    if kind != "M":
        old = new = new if kind == "A" else old
    modes = [
        0 if name is None else 0o100755 if os.stat(word).st_mode & 0o100 else 0o100644
        for name, word in zip(names, words, strict=False)
    ]
    both = dict(zip(names, contents, strict=True))
    patches.show([changes.Change(kind, old, new, *modes, *names)], lambda path, name: both[name], patches.style_of(o))
    return 1


# ---- reflog, shortlog, blame ----


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


def blame(args):
    o = parse(args, "L= e|show-email l s w porcelain p|line-porcelain date= t f|show-name n|show-number")
    if o.porcelain or o.get("line-porcelain"):
        raise Failure("--porcelain is not supported here")
    repo = repository.find()
    words, paths = revisions.separate(repo, o)
    path = Paths(repo, paths[:1]).patterns[0][1]
    at = revisions.commit_named(repo, words[0]) if words else repo.head()
    entry = repo.files(repo.commit(at).tree).get(path)
    if entry is None:
        raise Failure(f"no such path '{os.fsdecode(path)}' in {os.fsdecode(words[0]) if words else 'HEAD'}")
    text = lines.split(repo.blob(entry[1]))
    owners = find_owners(repo, at, path, text)
    first, last = 1, len(text)
    if o.L:
        start, _, end = o.L.partition(",")
        first = int(start or 1)
        last = first + int(end) - 1 if end.startswith("+") else int(end or last)
    chosen = [(i, owners[i - 1], text[i - 1]) for i in range(first, min(last, len(text)) + 1)]
    whose = {}
    for _, (name, is_root, _), _ in chosen:
        commit = repo.commit(name)
        who = commit.author.partition(b" <")
        shown = b"<" + who[2] if o.show_email else who[0]
        whose[name] = (shown, dates.show(commit.author_time, commit.author_timezone, o.date or "iso").encode(), is_root)
    width = max((len(one[0].decode("utf-8", "replace")) for one in whose.values()), default=0)
    digits = len(str(last))
    length = 40 if o.l else 8
    names = {one[2] for one in owners}
    widest = max(map(len, names)) if names != {path} else 0
    for i, (name, _, own), line in chosen:
        who, when, is_root = whose[name]
        shown = b"^" + name[: length - 1] if is_root else name[:length]
        padded = who + b" " * (width - len(who.decode("utf-8", "replace")))
        shown += b" " + own.ljust(widest) if widest else b""
        say(shown, b" " if o.s else b" (%b %b " % (padded, when), str(i).rjust(digits), b") ", line.removesuffix(b"\n"), b"\n")
    return 0


def find_owners(repo, at, path, text):
    """The commit that each line is from, whether that is one without parents, and the file's name there."""
    owners = [None] * len(text)
    todo = [(at, path, text, list(range(len(text))))]
    while todo:
        name, path, text, places = todo.pop(0)
        left = [place is not None for place in places]
        for parent in repo.parents(name):
            entry = repo.files(repo.commit(parent).tree).get(path)
            old_path = path
            if entry is None:
                found = changes.find(
                    repo.files(repo.commit(parent).tree), repo.files(repo.commit(name).tree), lambda p, n: repo.blob(n)
                )
                source = next((c for c in found if c.kind == "R" and c.new == path), None)
                if source is None:
                    continue
                entry, old_path = (source.old_mode, source.old_name), source.old
            old = lines.split(repo.blob(entry[1]))
            passed, i, j = [None] * len(old), 0, 0
            for a, b, removed, added in [*lines.compare(old, text), (len(old), len(text), 0, 0)]:
                while i < a and j < b:
                    if left[j]:
                        passed[i], left[j] = places[j], False
                    i, j = i + 1, j + 1
                i, j = a + removed, b + added
            if any(place is not None for place in passed):
                todo.append((parent, old_path, old, passed))
        for j, is_own in enumerate(left):
            if is_own:
                owners[places[j]] = (name, not repo.parents(name), path)
    return owners
