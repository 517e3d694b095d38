"""Commands that bring changes of other commits here: merge, cherry-pick, revert, rebase, stash."""

import os

from _hatchway.git import changes, patches, repository, revisions, status
from _hatchway.git.base import Failure, Usage, parse, say, tell
from _hatchway.git.history import forget, read_state, show_made, tidy, write_state
from _hatchway.git.pretty import shorten, subject, subject_of
from _hatchway.git.three_way import merge_trees
from _hatchway.git.worktree import Tree, check_clean, keep_local, put, untracked
from dulwich.index import ConflictedIndexEntry
from dulwich.objects import Commit


def apply(repo, base, theirs, names, what):
    """Brings the difference of two sets of files into index and work tree. The conflicts, if any."""
    ours = repo.files(repo.head_tree())
    merged = merge_trees(repo, base, ours, theirs, names)
    check_clean(repo, ours, merged.files, what)
    put(repo, keep_local(repo, ours, merged.files))
    for path, sides in merged.conflicts.items():
        entries = [None if side is None else repository.make_entry(*side) for side in sides]
        repo.index[path] = ConflictedIndexEntry(*entries)
    repo.write_index()
    say(*merged.told)
    return merged.conflicts


def virtual_base(repo, bases):
    """The files of the common ancestor: of several, the first with the others merged into it."""
    if not bases:
        return {}
    files = repo.files(repo.commit(bases[0]).tree)
    for other in bases[1:4]:
        inner = revisions.merge_bases(repo, bases[0], other)
        below = repo.files(repo.commit(inner[0]).tree) if inner else {}
        files = merge_trees(
            repo, below, files, repo.files(repo.commit(other).tree), (b"Temporary merge branch 1", b"Temporary merge branch 2")
        ).files
    return files


def need_quiet(repo, verb):
    if read_state(repo, b"MERGE_HEAD"):
        raise Failure(
            "You have not concluded your merge (MERGE_HEAD exists).\n"
            "Please, commit your changes before you merge."
        )  # fmt: skip
    if repo.unmerged():
        raise Failure(
            "Exiting because of an unresolved conflict.",
            prefix=f"error: {verb} is not possible because you have unmerged files.\n"
            "hint: Fix them up in the work tree, and then use 'git add/rm <file>'\n"
            "hint: as appropriate to mark resolution and make a commit.\nfatal: ",
        )


def new_commit(repo, files, parents, message, like=None):
    made = Commit()
    made.tree, made.parents, made.message = repo.write_tree(files), parents, message
    made.committer, made.commit_time, made.commit_timezone = repo.person("COMMITTER")
    made.author, made.author_time, made.author_timezone = (
        repo.person("AUTHOR") if like is None else (like.author, like.author_time, like.author_timezone)
    )
    return made


# ---- merge ----


def merge(args):
    o = parse(
        args,
        (
            "no-ff ff ff-only m|message=* squash no-commit commit abort continue quit "
            "q|quiet n|no-stat stat e|edit no-edit v|verbose"
            " allow-unrelated-histories s|strategy= X|strategy-option=* log? signoff "
            "no-verify F|file= autostash S|gpg-sign? progress"
        ),
    )
    repo = repository.find()
    repo.need_work_tree()
    if o.abort:
        return abort(repo, b"MERGE_HEAD", "There is no merge to abort (MERGE_HEAD missing).")
    if o.get("continue"):
        if not read_state(repo, b"MERGE_HEAD"):
            raise Failure("There is no merge in progress (MERGE_HEAD missing).")
        from _hatchway.git.history import commit

        return commit(["--no-edit"])
    if o.strategy not in (None, "ort", "recursive") or o.get("strategy-option"):
        raise Failure("strategies and their options are not supported here: merge, and resolve the conflicts")
    need_quiet(repo, "Merging")
    words = o.rest or ([os.fsdecode(repository.short(t))] if (t := revisions.upstream(repo, repo.branch_name())) else [])
    if len(words) != 1:
        raise Failure(
            "merges of more than one commit are not supported here: merge one after the other"
            if words
            else "No remote for the current branch."
        )
    word = words[0].encode("utf-8", "surrogateescape")
    if revisions.find(repo, word) is None:
        raise Failure(f"{words[0]} - not something we can merge", 1, "merge: ")
    other, head = revisions.commit_named(repo, word), repo.head()
    return merge_commit(repo, other, word, head, o)


def merge_commit(repo, other, word, head, o, message=None):
    if head is None:
        put(repo, repo.files(repo.commit(other).tree))
        repo.write_index()
        repo.set_ref(b"HEAD", other, f"initial pull {os.fsdecode(word)}")
        return 0
    bases = revisions.merge_bases(repo, head, other)
    if other in bases:
        say(b"" if o.quiet else b"Already up to date.\n")
        return 0
    if head in bases and o.ff is not False and not o.squash:
        return fast_forward(repo, head, other, word, o)
    if o.get("ff-only"):
        raise Failure(
            "Not possible to fast-forward, aborting.",
            prefix=(
                "hint: Diverging branches can't be fast-forwarded, you need to "
                "either:\nhint:\nhint: \tgit merge --no-ff\nhint:\nhint: or:\nhint:\nhint: \tgit "
                'rebase\nhint:\nhint: Disable this message with "git config advice.diverging '
                'false"\nfatal: '
            ),
        )
    if not bases and not o.allow_unrelated_histories:
        raise Failure("refusing to merge unrelated histories")
    if o.message:
        message = tidy("\n\n".join(o.message).encode("utf-8", "surrogateescape"))
    message = message or merge_message(repo, word)
    write_state(repo, b"ORIG_HEAD", head + b"\n")
    conflicts = apply(repo, virtual_base(repo, bases), repo.files(repo.commit(other).tree), (b"HEAD", word), "merge")
    if conflicts or o.commit is False or o.squash:
        return stop_merge(repo, other, message, conflicts, o)
    files = repo.staged()
    made = new_commit(repo, files, [head, other], message)
    repo.set_ref(b"HEAD", repo.add(made), f"merge {os.fsdecode(word)}: Merge made by the 'ort' strategy.")
    if not o.quiet:
        say(b"Merge made by the 'ort' strategy.\n")
    show_difference(repo, repo.files(repo.commit(head).tree), files, o)
    return 0


def stop_merge(repo, other, message, conflicts, o):
    listed = b"".join(b"#\t%b\n" % path for path in conflicts)
    text = message + (b"\n# Conflicts:\n" + listed if conflicts else b"")
    if o.squash:
        write_state(repo, b"SQUASH_MSG", b"Squashed commit of the following:\n\n" + squash_text(repo, other))
        say(b"Squash commit -- not updating HEAD\n")
    else:
        write_state(repo, b"MERGE_HEAD", other + b"\n")
        write_state(repo, b"MERGE_MSG", text)
        write_state(repo, b"MERGE_MODE", b"no-ff" if o.ff is False else b"")
    if conflicts:
        say(b"Automatic merge failed; fix conflicts and then commit the result.\n")
        return 1
    say(b"Automatic merge went well; stopped before committing as requested\n")
    return 0


def squash_text(repo, other):
    from _hatchway.git.pretty import Formatter

    formatter = Formatter(repo)
    texts = [formatter.show(name, commit) for name, commit in revisions.walk(repo, [other], [repo.head()])]
    return b"\n\n".join(texts) + b"\n"


def merge_message(repo, word):
    name = revisions.full_name(repo, word)
    kind = (
        "commit"
        if name is None
        else "branch"
        if name.startswith(b"refs/heads/")
        else "tag"
        if name.startswith(b"refs/tags/")
        else "remote-tracking branch"
    )
    into = repo.branch_name() or b"HEAD"
    return f"Merge {kind} '{os.fsdecode(word)}'".encode() + (b"" if into in (b"master", b"main") else b" into " + into) + b"\n"


def fast_forward(repo, head, other, word, o):
    old, new = repo.files(repo.commit(head).tree), repo.files(repo.commit(other).tree)
    check_clean(repo, old, new, "merge")
    if not o.quiet:
        say(b"Updating ", shorten(repo, head), b"..", shorten(repo, other), b"\nFast-forward\n")
    put(repo, keep_local(repo, old, new))
    repo.write_index()
    write_state(repo, b"ORIG_HEAD", head + b"\n")
    repo.set_ref(b"HEAD", other, f"merge {os.fsdecode(word)}: Fast-forward")
    show_difference(repo, old, new, o)
    return 0


def show_difference(repo, old, new, o):
    if not o.quiet and not o.get("no-stat") and o.stat is not False:
        read = lambda path, name: repo.blob(name)  # noqa: E731
        patches.show(changes.find(old, new, read), read, patches.Style(patch=False, stat=True, summary=True))


def abort(repo, state, text):
    if not read_state(repo, state):
        raise Failure(text)
    hard(repo, read_state(repo, b"ORIG_HEAD").strip() or repo.head())
    for name in (b"MERGE_HEAD", b"MERGE_MSG", b"MERGE_MODE", b"CHERRY_PICK_HEAD", b"REVERT_HEAD"):
        forget(repo, name)
    return 0


def hard(repo, name):
    """Index and work tree as in that commit."""
    new = repo.files(repo.commit(name).tree)
    there, old = Tree(repo), repo.staged()
    for path, staged in list(repo.index.items()):
        if isinstance(staged, ConflictedIndexEntry) or there.entry(path, staged) != (staged.mode, staged.sha):
            old[path] = None
    for path in [path for path in old if path not in new and path in repo.index]:
        if isinstance(repo.index[path], ConflictedIndexEntry):
            del repo.index[path]
    put(repo, new, old)
    repo.write_index()


# ---- cherry-pick, revert ----


def cherry_pick(args):
    o = parse(
        args,
        (
            "n|no-commit x abort continue skip quit m|mainline= e|edit no-edit s|signoff "
            "allow-empty keep-redundant-commits ff S|gpg-sign? strategy= X="
        ),
    )
    return pick_all(o, "cherry-pick", b"CHERRY_PICK_HEAD")


def revert(args):
    o = parse(args, "n|no-commit abort continue skip quit m|mainline= e|edit no-edit s|signoff S|gpg-sign? strategy= X=")
    return pick_all(o, "revert", b"REVERT_HEAD")


def pick_all(o, verb, state):
    repo = repository.find()
    repo.need_work_tree()
    todo = read_state(repo, b"sequencer-todo").split()
    if o.abort:
        if not read_state(repo, state):
            raise Failure(f"{verb} failed", prefix="error: no cherry-pick or revert in progress\nfatal: ")
        forget(repo, b"sequencer-todo")
        return abort(repo, state, "")
    if o.get("continue") or o.skip:
        if not read_state(repo, state):
            raise Failure(f"{verb} failed", prefix="error: no cherry-pick or revert in progress\nfatal: ")
        if o.skip:
            hard(repo, repo.head())
            forget(repo, state)
        else:
            from _hatchway.git.history import commit

            if (code := commit(["--no-edit"])) != 0:
                return code
    else:
        need_quiet(repo, "Cherry-picking" if verb == "cherry-pick" else "Reverting")
        todo = picked(repo, o.rest, verb)
        write_state(repo, b"ORIG_HEAD", (repo.head() or b"") + b"\n")
    while todo:
        name = todo.pop(0)
        write_state(repo, b"sequencer-todo", b" ".join(todo))
        if (code := pick(repo, name, o, verb, state)) != 0:
            return code
    forget(repo, b"sequencer-todo")
    return 0


def picked(repo, words, verb):
    if not words:
        raise Usage(f"usage: git {verb} <commit>...")
    found = []
    for word in words:
        if ".." in word:
            tips, hidden = revisions.parse_range(repo, [word])
            names = [name for name, _ in revisions.walk(repo, tips, hidden)]
            found += reversed(names) if verb == "cherry-pick" else names
        else:
            if revisions.find(repo, word) is None:
                raise Failure(f"bad revision '{word}'")
            found.append(revisions.commit_named(repo, word))
    return found


def pick(repo, name, o, verb, state):
    commit = repo.commit(name)
    parents = repo.parents(name)
    if len(parents) > 1 and not o.mainline:
        raise Failure(f"{verb} failed", prefix=f"error: commit {name.decode()} is a merge but no -m option was given.\nfatal: ")
    parent = parents[int(o.mainline or 1) - 1] if parents else None
    before, after = repo.files(repo.commit(parent).tree) if parent else {}, repo.files(commit.tree)
    label = shorten(repo, name) + b" (" + subject(commit) + b")"
    if verb == "revert":
        names = (b"HEAD", b"parent of " + label)
        message = b'Revert "' + subject(commit) + b'"\n\nThis reverts commit ' + name + b".\n"
        conflicts = apply(repo, after, before, names, "merge")
    else:
        message = commit.message + (b"\n(cherry picked from commit " + name + b")\n" if o.x else b"")
        conflicts = apply(repo, before, after, (b"HEAD", label), "merge")
    if conflicts:
        listed = b"".join(b"#\t%b\n" % path for path in conflicts)
        write_state(repo, state, name + b"\n")
        write_state(repo, b"MERGE_MSG", message + b"\n# Conflicts:\n" + listed)
        doing = "apply" if verb == "cherry-pick" else "revert"
        tell(
            f"error: could not {doing} {shorten(repo, name).decode()}... {os.fsdecode(subject(commit))}\n"
            'hint: After resolving the conflicts, mark them with\nhint: "git add/rm <pathspec>", then run\n'
            f'hint: "git {verb} --continue".\nhint: You can instead skip this commit with "git {verb} --skip".\n'
            f'hint: To abort and get back to the state before "git {verb}",\nhint: run "git {verb} --abort".\n'
        )
        return 1
    if o.commit is False or o.get("no-commit"):
        return 0
    files, head = repo.staged(), repo.head()
    old = repo.files(repo.head_tree())
    if files == old and not o.allow_empty:
        write_state(repo, state, name + b"\n")
        tell(
            "The previous cherry-pick is now empty, possibly due to conflict resolution.\nIf "
            "you wish to commit it anyway, use:\n\n"
            "    git commit --allow-empty\n\nOtherwise, please use 'git cherry-pick --skip'\n"
        )
        status.show_long(repo, status.Status(repo))
        return 1
    made = new_commit(repo, files, [head] if head else [], message, commit if verb == "cherry-pick" else None)
    new = repo.add(made)
    repo.set_ref(b"HEAD", new, f"{verb}: {os.fsdecode(subject_of(message))}")
    show_made(repo, new, made, old, is_dated=True)
    return 0


# ---- rebase ----


def rebase(args):
    o = parse(
        args,
        (
            "onto= abort continue skip quit i|interactive q|quiet root autosquash "
            "no-autosquash autostash f|force-rebase keep-empty r|rebase-merges? m|merge X= "
            "S|gpg-sign?"
        ),
    )
    repo = repository.find()
    repo.need_work_tree()
    folder = os.path.join(repo.git_dir, b"rebase-merge")
    if o.abort or o.get("continue") or o.skip:
        if not os.path.isdir(folder):
            raise Failure("No rebase in progress?")
        return go_on(repo, o)
    if o.interactive or o.root or o.rebase_merges is not None:
        raise Failure("there is no editor to choose commits with: use git rebase UPSTREAM, git reset --soft or git cherry-pick")
    if os.path.isdir(folder):
        raise Failure("a rebase is under way: git rebase --continue, or --abort")
    work = status.Status(repo, untracked_files="no")
    if work.is_dirty or work.staged:
        kind = "You have unstaged changes." if work.is_dirty else "Your index contains uncommitted changes."
        raise Failure("Please commit or stash them.", 1, f"error: cannot rebase: {kind}\nerror: ")
    if len(o.rest) > 1:
        from _hatchway.git.branches import checkout

        checkout(["-q", o.rest[1]])
    word = o.rest[0].encode() if o.rest else repository.short(revisions.upstream(repo, repo.branch_name()) or b"")
    if revisions.find(repo, word) is None:
        raise Failure(f"invalid upstream '{os.fsdecode(word)}'")
    upstream, head = revisions.commit_named(repo, word), repo.head()
    onto = revisions.commit_named(repo, o.onto) if o.onto else upstream
    branch = repo.branch()
    if onto in revisions.merge_bases(repo, onto, head) and not o.onto:
        tell_current(repo, branch)
        return 0
    todo = [name for name, commit in revisions.walk(repo, [head], [upstream]) if len(commit.parents) < 2]
    known = {patch_id(repo, name) for name, _ in revisions.walk(repo, [upstream], [head])}
    todo = [name for name in reversed(todo) if patch_id(repo, name) not in known]
    check_clean(repo, repo.files(repo.commit(head).tree), repo.files(repo.commit(onto).tree), "checkout")
    os.makedirs(folder)
    write_state(repo, b"rebase-merge/head-name", branch or b"detached HEAD")
    write_state(repo, b"rebase-merge/orig-head", head + b"\n")
    write_state(repo, b"rebase-merge/onto", onto + b"\n")
    write_state(repo, b"rebase-merge/end", b"%d" % len(todo))
    write_state(repo, b"ORIG_HEAD", head + b"\n")
    hard(repo, onto)
    repo.set_head(onto, f"rebase (start): checkout {os.fsdecode(word)}", head, onto)
    return replay(repo, todo)


def patch_id(repo, name):
    from _hatchway.git.history import commit_changes

    found = commit_changes(repo, name, repo.commit(name), renames=False)

    def hunks(change):
        old, new = map(patches.lines.split, patches.contents(change, lambda path, name: repo.blob(name)))
        return b"".join(one for one in patches.make_hunks(old, new, 3) if not one.startswith(b"@@"))

    return tuple((change.old, change.new, hunks(change)) for change in found)


def tell_current(repo, branch):
    shown = f"branch {os.fsdecode(repository.short(branch))}" if branch else "HEAD"
    say(f"Current {shown} is up to date.\n")


def replay(repo, todo):
    while todo:
        name = todo.pop(0)
        write_state(repo, b"rebase-merge/todo", b" ".join(todo))
        commit = repo.commit(name)
        parents = repo.parents(name)
        if parents and parents[0] == repo.head():
            hard(repo, name)
            repo.set_ref(b"HEAD", name, f"rebase (pick): {os.fsdecode(subject(commit))}")
            continue
        before = repo.files(repo.commit(parents[0]).tree) if parents else {}
        label = shorten(repo, name) + b" (" + subject(commit) + b")"
        conflicts = apply(repo, before, repo.files(commit.tree), (b"HEAD", label), "merge")
        if conflicts:
            write_state(repo, b"CHERRY_PICK_HEAD", name + b"\n")
            write_state(repo, b"MERGE_MSG", commit.message)
            shown = f"{shorten(repo, name).decode()}... {os.fsdecode(subject(commit))}\n"
            tell(
                f"error: could not apply {shown}"
                'hint: Resolve all conflicts manually, mark them as resolved with\nhint: "git '
                'add/rm <conflicted_files>", then run '
                '"git rebase --continue".\nhint: You can instead skip this commit: run "git rebase --skip".\n'
                'hint: To abort and get back to the state before "git rebase", run "git rebase --abort".\n'
                f"Could not apply {shown}"
            )
            return 1
        keep_pick(repo, commit)
    return finish(repo)


def keep_pick(repo, commit):
    files = repo.staged()
    if files == repo.files(repo.head_tree()):
        return
    made = new_commit(repo, files, [repo.head()], commit.message, commit)
    repo.set_ref(b"HEAD", repo.add(made), f"rebase (pick): {os.fsdecode(subject(commit))}")


def go_on(repo, o):
    if o.abort:
        head, branch = read_state(repo, b"rebase-merge/orig-head").strip(), read_state(repo, b"rebase-merge/head-name")
        hard(repo, head)
        repo.set_head(branch if branch.startswith(b"refs/") else head, "rebase (abort)", repo.head(), head)
        clear(repo)
        return 0
    picked = read_state(repo, b"CHERRY_PICK_HEAD").strip()
    if o.skip:
        hard(repo, repo.head())
    elif repo.unmerged():
        say(b"".join(b"%b: needs merge\n" % path for path in repo.unmerged()))
        raise Failure("you must edit all merge conflicts and then\nmark them as resolved using git add", 1, "")
    elif picked:
        commit = repo.commit(picked)
        old = repo.files(repo.head_tree())
        keep_pick(repo, commit)
        if repo.files(repo.head_tree()) != old:
            show_made(repo, repo.head(), repo.commit(repo.head()), old)
    forget(repo, b"CHERRY_PICK_HEAD")
    forget(repo, b"MERGE_MSG")
    return replay(repo, read_state(repo, b"rebase-merge/todo").split())


def finish(repo):
    branch, onto = read_state(repo, b"rebase-merge/head-name"), read_state(repo, b"rebase-merge/onto").strip()
    head = repo.head()
    if branch.startswith(b"refs/"):
        repo.set_ref(branch, head, f"rebase (finish): {os.fsdecode(branch)} onto {onto.decode()}")
        repo.set_head(branch, f"rebase (finish): returning to {os.fsdecode(branch)}", head, head)
    clear(repo)
    tell(f"Successfully rebased and updated {os.fsdecode(branch)}.\n")
    return 0


def clear(repo):
    folder = os.path.join(repo.git_dir, b"rebase-merge")
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    os.rmdir(folder)
    forget(repo, b"CHERRY_PICK_HEAD")
    forget(repo, b"MERGE_MSG")


# ---- stash ----


def stash(args):
    verb = args[0] if args and not args[0].startswith("-") else "push"
    rest = args[1:] if args and not args[0].startswith("-") else args
    repo = repository.find()
    repo.need_work_tree()
    verbs = {
        "push": stash_push,
        "save": stash_push,
        "list": stash_list,
        "pop": stash_apply,
        "apply": stash_apply,
        "drop": stash_drop,
        "clear": stash_drop,
        "show": stash_show,
    }
    if verb not in verbs:
        raise Failure(f"unknown subcommand: {verb}", 129, "error: ")
    return verbs[verb](repo, rest, verb)


def stash_push(repo, args, verb):
    o = parse(args, "m|message= u|include-untracked a|all k|keep-index q|quiet p|patch S|staged")
    if o.patch or o.staged or o.paths or (o.rest and verb == "push"):
        raise Failure("only the whole work tree can be stashed here")
    head = repo.head()
    if head is None:
        raise Failure("You do not have the initial commit yet", 1, "")
    found = status.Status(repo, untracked_files="no")
    extra = untracked(repo, True) if o.include_untracked or o.all else []
    if not (found.staged or found.changed or extra):
        say(b"No local changes to save\n")
        return 0
    staged, old = repo.staged(), repo.files(repo.head_tree())
    tree = Tree(repo)
    there = {path: entry for path, entry in tree.files().items()}
    for data in tree.contents.values():
        repo.add_blob(data)
    branch = repo.branch_name() or b"(no branch)"
    about = branch + b": " + shorten(repo, head) + b" " + subject(repo.commit(head))
    parents = [head, repo.add(new_commit(repo, staged, [head], b"index on " + about + b"\n"))]
    if extra:
        files = {}
        for path in extra:
            with open(repo.place(path), "rb") as file:
                files[path] = (repository.FILE, repo.add_blob(file.read()))
        parents.append(repo.add(new_commit(repo, files, [], b"untracked files on " + about + b"\n")))
    text = o.message or (" ".join(o.rest) if verb == "save" else None)
    message = b"On " + branch + b": " + text.encode() if text else b"WIP on " + about
    name = repo.add(new_commit(repo, there, parents, message))
    keep_stash(repo, name, message)
    hard(repo, head)
    repo.log(b"HEAD", head, head, "reset: moving to HEAD")
    if o.keep_index:
        put(repo, staged)
        repo.write_index()
    for path in extra:
        os.unlink(repo.place(path))
    for path in [path for path in staged if path not in old]:
        if not o.keep_index and os.path.lexists(repo.place(path)):
            os.unlink(repo.place(path))
    if not o.quiet:
        say(b"Saved working directory and index state ", message, b"\n")
    return 0


def keep_stash(repo, name, message):
    before = revisions.find(repo, b"refs/stash") or b"0" * 40
    repo.refs.set_if_equals(b"refs/stash", None, name)
    repo.log(b"refs/stash", before, name, os.fsdecode(message))


def stash_entry(repo, args):
    word = (args or ["0"])[0]
    digits = word.removeprefix("stash@{").removesuffix("}")
    entries = repo.read_log(b"refs/stash")
    if not digits.isdigit():
        raise Failure(f"{word} is not a valid reference", 1, "error: ")
    if int(digits) >= len(entries):
        if not entries:
            raise Failure("No stash entries found.", 1, "")
        raise Failure(f"stash@{{{digits}}} is not a valid reference", 1, "error: ")
    return int(digits), entries[int(digits)][1]


def stash_list(repo, args, verb):
    for i, (_, _, _, message) in enumerate(repo.read_log(b"refs/stash")):
        say(b"stash@{%d}: %b\n" % (i, message))
    return 0


def stash_show(repo, args, verb):
    o = parse(args, patches.OPTIONS)
    _, name = stash_entry(repo, o.rest)
    style = patches.style_of(o, default_patch=False)
    style = style if style.patch or style.names or style.status else style._replace(stat=True)
    read = lambda path, blob: repo.blob(blob)  # noqa: E731
    sides = [repo.files(repo.commit(one).tree) for one in (repo.parents(name)[0], name)]
    patches.show(changes.find(*sides, read), read, style)
    return 0


def stash_apply(repo, args, verb):
    o = parse(args, "index q|quiet")
    at, name = stash_entry(repo, o.rest)
    parents = repo.parents(name)
    base, there = repo.files(repo.commit(parents[0]).tree), repo.files(repo.commit(name).tree)
    staged = repo.files(repo.commit(parents[1]).tree)
    before = repo.staged()
    conflicts = apply(repo, base, there, (b"Updated upstream", b"Stashed changes"), "merge")
    if len(parents) > 2:
        for path, (mode, blob) in repo.files(repo.commit(parents[2]).tree).items():
            from _hatchway.git.worktree import write_file

            write_file(repo, path, mode, repo.blob(blob))
    if not conflicts:
        unstage(repo, before, base, staged, o.index)
    repo.write_index()
    if not o.quiet:
        status.show_long(repo, status.Status(repo))
    if conflicts:
        tell("The stash entry is kept in case you need it again.\n") if verb == "pop" else None
        return 1
    if verb == "pop":
        drop(repo, at, name, o.quiet)
    return 0


def unstage(repo, before, base, staged, with_index):
    """What was applied stays in the work tree; in the index only files that are new."""
    for path in list(repo.index):
        if with_index and staged.get(path) != base.get(path):
            if path in staged:
                repo.stage(path, *staged[path])
        elif path in before and repo.staged().get(path) != before[path]:
            repo.stage(path, *before[path])
    for path, entry in before.items():
        if path not in repo.index:
            repo.stage(path, *entry)


def stash_drop(repo, args, verb):
    if verb == "clear":
        forget(repo, b"refs/stash")
        forget(repo, b"logs/refs/stash")
        return 0
    drop(repo, *stash_entry(repo, [word for word in args if word != "-q"]), "-q" in args)
    return 0


def drop(repo, at, name, is_quiet):
    path = os.path.join(repo.git_dir, b"logs/refs/stash")
    with open(path, "rb") as file:
        found = file.read().splitlines(True)
    del found[len(found) - 1 - at]
    if not found:
        forget(repo, b"refs/stash")
        forget(repo, b"logs/refs/stash")
    else:
        with open(path, "wb") as file:
            file.writelines(found)
        repo.refs.set_if_equals(b"refs/stash", None, found[-1].split()[1])
    if not is_quiet:
        say(b"Dropped refs/stash@{%d} (%b)\n" % (at, name))
