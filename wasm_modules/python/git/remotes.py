"""Commands about other repositories: clone, remote, pull, push. Only ones in the same files can be reached."""

import os

from _hatchway.git import repository, revisions, setup
from _hatchway.git.base import Failure, parse, say, tell
from _hatchway.git.branches import set_upstream
from _hatchway.git.fetching import NETWORK, copy_objects, fetch, is_network, names_of, need_other, open_other, url_of
from _hatchway.git.merging import merge_commit
from _hatchway.git.picks import rebase
from _hatchway.git.pretty import shorten
from _hatchway.git.worktree import put
from dulwich.objects import Commit


def clone(args):
    o = parse(
        args,
        (
            "b|branch= o|origin= bare q|quiet n|no-checkout depth= single-branch "
            "no-single-branch recurse-submodules? recursive? no-local l|local"
            " mirror shared s progress v|verbose no-tags shallow-since= template= "
            "no-hardlinks c|config=* filter= j|jobs="
        ),
    )
    if not o.rest:
        raise Failure("You must specify a repository to clone.")
    url = o.rest[0]
    if is_network(url):
        raise Failure(NETWORK.format(url))
    source = open_other(url)
    if source is None:
        raise Failure(f"repository '{url}' does not exist")
    if o.depth:
        tell("warning: --depth is ignored in local clones; use file:// instead.\n")
    folder = (
        o.rest[1]
        if len(o.rest) > 1
        else os.path.basename(url.rstrip("/").removesuffix("/.git")).removesuffix(".git") + (".git" if o.bare else "")
    )
    if os.path.isdir(folder) and os.listdir(folder):
        raise Failure(f"destination path '{folder}' already exists and is not an empty directory.")
    if not o.quiet:
        tell(f"Cloning into {'bare repository ' if o.bare else ''}'{folder}'...\n")
    git_dir = folder if o.bare else os.path.join(folder, ".git")
    chosen = o.branch.encode() if o.branch else source.branch_name()
    setup.make(git_dir, bool(o.bare), os.fsdecode(source.branch_name() or b"master"))
    target = repository.Repository(folder)
    remote = (o.origin or "origin").encode()
    place = os.path.realpath(url.removeprefix("file://")) if not url.startswith("file://") else url
    settings = target.repo.get_config()
    settings.set((b"remote", remote), b"url", os.fsencode(place))
    if not o.bare:
        settings.set((b"remote", remote), b"fetch", b"+refs/heads/*:refs/remotes/" + remote + b"/*")
    settings.write_to_path()
    refs = names_of(source)
    copy_objects(source, target, refs.values())
    for name, value in refs.items():
        if o.bare or name.startswith(b"refs/tags/"):
            target.refs.set_if_equals(name, None, value)
        else:
            target.refs.set_if_equals(b"refs/remotes/" + remote + b"/" + repository.short(name), None, value)
    return check_out_clone(source, repository.Repository(folder), remote, chosen, o)


def check_out_clone(source, target, remote, chosen, o):
    head = source.head()
    if head is None and not o.branch:
        tell("warning: You appear to have cloned an empty repository.\n")
        return 0
    full = b"refs/heads/" + chosen if chosen else None
    if o.bare:
        if full:
            target.refs.set_symbolic_ref(b"HEAD", full)
        return 0
    if o.branch and full not in source.refs:
        tag = b"refs/tags/" + chosen
        if tag not in source.refs:
            raise Failure(f"Remote branch {o.branch} not found in upstream {remote.decode()}")
        at, full = revisions.peel(source, source.refs[tag], Commit), None
    else:
        at = source.refs[full] if full else head
    if source.branch() and source.head():
        target.refs.set_symbolic_ref(
            b"refs/remotes/" + remote + b"/HEAD", b"refs/remotes/" + remote + b"/" + source.branch_name()
        )
    if full:
        target.refs.set_if_equals(full, None, at)
        settings = target.repo.get_config()
        settings.set((b"branch", chosen), b"remote", remote)
        settings.set((b"branch", chosen), b"merge", full)
        settings.write_to_path()
    target.set_head(full or at, f"clone: from {target.setting(f'remote.{remote.decode()}.url')}", None, at)
    if not o.no_checkout:
        put(target, target.files(target.commit(at).tree), {})
        target.write_index()
    if not o.quiet:
        tell("done.\n")
    return 0


def remote(args):
    o = parse(args, "v|verbose f t= m= push add delete all n")
    repo = repository.find()
    settings = repo.repo.get_config()
    names = sorted({section[1] for section in settings.sections() if section[0] == b"remote" and len(section) > 1})
    verb, *words = o.rest or ["list"]
    if verb == "list" or (verb == "show" and not words):
        for name in names:
            url = settings.get((b"remote", name), b"url")
            say(*(b"%b\t%b (%b)\n" % (name, url, kind) for kind in (b"fetch", b"push")) if o.verbose else (name, b"\n"))
        return 0
    name = words[0].encode() if words else b""
    if verb == "add":
        if name in names:
            raise Failure(f"remote {words[0]} already exists.", 3, "error: ")
        settings.set((b"remote", name), b"url", os.fsencode(words[1]))
        settings.set((b"remote", name), b"fetch", b"+refs/heads/*:refs/remotes/" + name + b"/*")
        settings.write_to_path()
        return fetch([words[0]]) if o.f else 0
    if name not in names:
        raise Failure(
            f"No such remote: '{words[0] if words else ''}'" if verb != "get-url" else f"No such remote '{words[0]}'",
            2,
            "error: ",
        )
    if verb in ("remove", "rm"):
        del settings[(b"remote", name)]
        for section in list(settings.sections()):
            if section[0] == b"branch" and settings.get(section, b"remote") == name:
                del settings[section]
        for ref in [ref for ref in repo.refs.allkeys() if ref.startswith(b"refs/remotes/" + name + b"/")]:
            repo.refs.remove_if_equals(ref, None)
    elif verb == "get-url":
        say(settings.get((b"remote", name), b"url"), b"\n")
        return 0
    elif verb == "set-url":
        settings.set((b"remote", name), b"url", os.fsencode(words[1]))
    elif verb == "rename":
        new = words[1].encode()
        for key, value in list(settings.items((b"remote", name))):
            settings.set((b"remote", new), key, value.replace(b"refs/remotes/" + name + b"/", b"refs/remotes/" + new + b"/"))
        del settings[(b"remote", name)]
        for ref in [ref for ref in repo.refs.allkeys() if ref.startswith(b"refs/remotes/" + name + b"/")]:
            repo.refs.set_if_equals(ref.replace(b"/" + name + b"/", b"/" + new + b"/", 1), None, repo.refs[ref])
            repo.refs.remove_if_equals(ref, None)
    else:
        raise Failure(f"Unknown subcommand: {verb}", 129, "error: ")
    settings.write_to_path()
    return 0


DIVERGENT = """hint: You have divergent branches and need to specify how to reconcile them.
hint: You can do so by running one of the following commands sometime before
hint: your next pull:
hint:
hint:   git config pull.rebase false  # merge
hint:   git config pull.rebase true   # rebase
hint:   git config pull.ff only       # fast-forward only
hint:
hint: You can replace "git config" with "git config --global" to set a default
hint: preference for all repositories. You can also pass --rebase, --no-rebase,
hint: or --ff-only on the command line to override the configured default per
hint: invocation.
fatal: """


def pull(args):
    o = parse(
        args,
        (
            "r|rebase? no-rebase ff-only no-ff ff q|quiet v|verbose no-edit e|edit squash "
            "no-commit all p|prune t|tags autostash allow-unrelated-histories n stat no-stat "
            "depth= s= X="
        ),
    )
    repo = repository.find()
    repo.need_work_tree()
    branch = repo.branch_name()
    own = repo.setting(f"branch.{os.fsdecode(branch or b'')}.remote")
    name = o.rest[0] if o.rest else own or "origin"
    specs = o.rest[1:]
    before = repo.head()
    fetch([*(["-q"] if o.quiet else []), name, *specs])
    if specs:
        with open(os.path.join(repo.git_dir, b"FETCH_HEAD"), "rb") as file:
            other = file.read(40)
        word = specs[0].encode()
    else:
        tracked = revisions.upstream(repo, branch)
        if tracked is None:
            shown = os.fsdecode(branch or b"")
            raise Failure(
                "There is no tracking information for the current branch.\nPlease specify which branch you want to merge with.\n"
                "See git-pull(1) for details.\n\n    git pull <remote> <branch>\n\nIf you wish "
                "to set tracking information for this branch you can do so with:\n\n"
                f"    git branch --set-upstream-to={name}/<branch> {shown}\n",
                1,
                "",
            )
        other, word = repo.refs[tracked], repository.short(tracked)
    repo = repository.find()
    bases = revisions.merge_bases(repo, before, other) if before else []
    wants_rebase = o.rebase not in (None, False, "false", "no") or (o.rebase is None and repo.is_set("pull.rebase"))
    is_apart = before and other not in bases and before not in bases
    is_told = o.rebase is not None or o.get("no-rebase") or o.ff is False or o.ff or o.ff_only
    is_set = repo.setting("pull.rebase") is not None or repo.setting("pull.ff") is not None
    if is_apart and not (wants_rebase or is_told or is_set):
        raise Failure("Need to specify how to reconcile divergent branches.", prefix=DIVERGENT)
    if wants_rebase and is_apart:
        return rebase([os.fsdecode(other)])
    url = url_of(repo, name)
    into = b"" if branch in (b"master", b"main") else b" into " + (branch or b"HEAD")
    message = f"Merge branch '{os.fsdecode(word.rpartition(b'/')[2] if not specs else word)}' of {url}".encode() + into + b"\n"
    return merge_commit(repo, other, other, before, o, message)


def push(args):
    o = parse(
        args,
        (
            "u|set-upstream f|force force-with-lease? all tags d|delete q|quiet v|verbose "
            "n|dry-run follow-tags mirror no-verify porcelain progress atomic o= thin"
        ),
    )
    repo = repository.find()
    branch = repo.branch_name()
    words = list(o.rest)
    name = words.pop(0) if words else repo.setting(f"branch.{os.fsdecode(branch or b'')}.remote")
    if name is None:
        if repo.setting("remote.origin.url") is None:
            raise Failure(
                "No configured push destination.\nEither specify the URL from the command-line "
                "or configure a remote repository using\n\n"
                "    git remote add <name> <url>\n\nand then push using the remote name\n\n    git push <name>\n"
            )
        name = "origin"
    url = url_of(repo, name)
    target = need_other(url)
    is_plain = not (words or o.all or o.tags or o.set_upstream)
    is_set_up = repo.setting("push.autoSetupRemote") is not None or repo.setting("push.default") == "current"
    if is_plain and not is_set_up and revisions.upstream(repo, branch) is None:
        shown = os.fsdecode(branch or b"")
        raise Failure(
            f"The current branch {shown} has no upstream branch.\nTo push the current branch "
            f"and set the remote as upstream, use\n\n    git push --set-upstream {name} "
            f"{shown}\n"
            "\nTo have this happen automatically for branches without a tracking\nupstream, "
            "see 'push.autoSetupRemote' in 'git help config'.\n"
        )
    specs = push_specs(repo, words, o, branch)
    told, failed = [], False
    for source, to, is_forced in specs:
        line, ok = push_one(repo, target, source, to, is_forced or o.force or o.get("force-with-lease") is not None, o.dry_run)
        if line:
            told.append(line)
        failed |= not ok
        if ok and repo.setting(f"remote.{name}.url") and to.startswith(b"refs/heads/") and not o.dry_run:
            track(repo, name, source, to, o)
    if told and not o.quiet:
        tell(f"To {url}\n" + "".join(told))
    elif not told and not o.quiet:
        tell("Everything up-to-date\n")
    if failed:
        tell(f"error: failed to push some refs to '{url}'\n")
        if any("fetch first" in one or "non-fast-forward" in one for one in told):
            tell(
                "hint: Updates were rejected because the remote contains work that you do\nhint: "
                "not have locally. Integrate the remote changes (git pull) before pushing "
                "again.\n"
            )
    return 1 if failed else 0


def push_specs(repo, words, o, branch):
    found = []
    if o.all:
        found += [(name, name, False) for name in sorted(repo.refs.allkeys()) if name.startswith(b"refs/heads/")]
    if o.tags:
        found += [(name, name, False) for name in sorted(repo.refs.allkeys()) if name.startswith(b"refs/tags/")]
    if not words and not found:
        if branch is None:
            raise Failure("You are not currently on a branch.")
        words = [os.fsdecode(branch)]
    for word in words:
        is_forced, word = word.startswith("+"), word.lstrip("+")
        left, colon, right = word.partition(":")
        if o.delete:
            left, right = "", word
        if left == "" and (colon or o.delete):
            full = right.encode() if right.startswith("refs/") else b"refs/heads/" + right.encode()
            found.append((None, full, is_forced))
            continue
        source = repo.branch() if left in ("HEAD", "@") else revisions.full_name(repo, left.encode())
        if source is None:
            if revisions.find_quietly(repo, left.encode()) is None or not right:
                raise Failure(f"src refspec {left} does not match any", 1, "error: ")
            source = revisions.commit_named(repo, left)
        to = right.encode() if right else source
        found.append((source, to if to.startswith(b"refs/") else b"refs/heads/" + to, is_forced))
    return found


def push_one(repo, target, source, to, is_forced, is_dry):
    old = target.refs[to] if to in target.refs else None
    shown = os.fsdecode(repository.short(to))
    if source is None:
        if old is None:
            return f" ! [remote rejected] {shown} (remote ref does not exist)\n", False
        if not is_dry:
            target.refs.remove_if_equals(to, None)
        return f" - [deleted]         {shown}\n", True
    value = repo.refs[source] if source.startswith(b"refs/") else source
    local = os.fsdecode(repository.short(source)) if source.startswith(b"refs/") else shorten(repo, source).decode()
    if old == value:
        return "", True
    if old is not None and not is_forced:
        if to.startswith(b"refs/tags/"):
            return f" ! [rejected]        {local} -> {shown} (already exists)\n", False
        if old not in repo.store:
            return f" ! [rejected]        {local} -> {shown} (fetch first)\n", False
        if not revisions.is_ancestor(repo, old, value):
            return f" ! [rejected]        {local} -> {shown} (non-fast-forward)\n", False
    if not target.is_bare and target.branch() == to:
        return f" ! [remote rejected] {local} -> {shown} (branch is currently checked out)\n", False
    if not is_dry:
        copy_objects(repo, target, [value])
        target.refs.set_if_equals(to, None, value)
    if old is None:
        kind = "[new tag]" if to.startswith(b"refs/tags/") else "[new branch]"
        return f" * {kind:<18}{local} -> {shown}\n", True
    one, two = shorten(target, old).decode(), shorten(repo, value).decode()
    if old in repo.store and revisions.is_ancestor(repo, old, value):
        return f"   {one}..{two}  {local} -> {shown}\n", True
    return f" + {one}...{two} {local} -> {shown} (forced update)\n", True


def track(repo, name, source, to, o):
    ref = b"refs/remotes/" + name.encode() + b"/" + repository.short(to)
    if source is None:
        if ref in repo.refs:
            repo.refs.remove_if_equals(ref, None)
        return
    value = repo.refs[source] if source.startswith(b"refs/") else source
    repo.set_ref(ref, value, "update by push")
    if (o.set_upstream or repo.is_set("push.autoSetupRemote")) and source.startswith(b"refs/heads/"):
        set_upstream(repo, repository.short(source), os.fsdecode(repository.short(ref)), o.quiet)
