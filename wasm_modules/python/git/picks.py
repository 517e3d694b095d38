"""Commands that make commits again somewhere else: cherry-pick, revert, rebase."""

import os

from _hatchway.git import patches, repository, revisions, status
from _hatchway.git.base import Failure, Usage, parse, say, tell
from _hatchway.git.commits import commit, forget, read_state, show_made, write_state
from _hatchway.git.history import commit_changes
from _hatchway.git.merging import abort, apply, hard, need_quiet, new_commit
from _hatchway.git.pretty import shorten, subject, subject_of
from _hatchway.git.switching import checkout
from _hatchway.git.worktree import check_clean


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
