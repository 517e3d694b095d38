"""`git`: finds the command that is meant, and turns failures into what git says and its exit status."""

import os
import sys

from _hatchway.git import (
    blame,
    branches,
    commits,
    comparison,
    fetching,
    history,
    merging,
    picks,
    plumbing,
    remotes,
    repository,
    revisions,
    setup,
    staging,
    stashes,
    status,
    switching,
    tags,
)
from _hatchway.git.base import Failure, Usage, parse, say, tell

VERSION = "2.39.5"
COMMANDS = {
    "add": staging.add, "blame": blame.blame, "branch": branches.branch, "cat-file": plumbing.cat_file,
    "check-ignore": plumbing.check_ignore, "checkout": switching.checkout, "cherry-pick": picks.cherry_pick,
    "clean": staging.clean, "clone": remotes.clone,
    "commit": commits.commit, "config": setup.config, "describe": tags.describe, "diff": comparison.diff, "fetch": fetching.fetch,
    "for-each-ref": branches.for_each_ref, "hash-object": plumbing.hash_object, "init": setup.init,
    "log": history.log, "ls-files": plumbing.ls_files, "ls-remote": fetching.ls_remote, "ls-tree": plumbing.ls_tree,
    "merge": merging.merge, "mv": staging.mv,
    "pull": remotes.pull, "push": remotes.push, "rebase": picks.rebase, "reflog": history.reflog, "remote": remotes.remote,
    "reset": switching.reset, "restore": switching.restore, "rev-list": plumbing.rev_list, "rev-parse": plumbing.rev_parse,
    "revert": picks.revert, "rm": staging.rm, "shortlog": history.shortlog, "show": history.show, "show-ref": plumbing.show_ref,
    "stash": stashes.stash, "status": status.status, "switch": switching.switch, "symbolic-ref": plumbing.symbolic_ref,
    "tag": tags.tag, "update-ref": plumbing.update_ref,
}  # fmt: skip
ABSENT = {"gc": 0, "maintenance": 0, "prune": 0, "pack-refs": 0, "repack": 0}
"""What has no effect that a program could see."""


def merge_base(args):
    o = parse(args, "a|all is-ancestor octopus independent fork-point")
    repo = repository.find()
    names = [revisions.commit_named(repo, word) for word in o.rest]
    if len(names) != 2:
        raise Usage("usage: git merge-base [-a | --all] <commit> <commit>")
    if o.is_ancestor:
        return 0 if revisions.is_ancestor(repo, *names) else 1
    found = revisions.merge_bases(repo, *names)
    for name in found if o.all else found[:1]:
        say(name, b"\n")
    return 0 if found else 1


def write_tree(args):
    repo = repository.find()
    say(repo.write_tree(repo.staged()), b"\n")
    return 0


COMMANDS |= {"merge-base": merge_base, "write-tree": write_tree}


def usage():
    return (
        "usage: git [-C <path>] [-c <name>=<value>] [--git-dir=<path>] [--work-tree=<path>] <command> [<args>]\n\n"
        "These commands are there:\n   "
        + "\n   ".join(" ".join(sorted(COMMANDS)[i : i + 8]) for i in range(0, len(COMMANDS), 8))
        + "\n"
    )


def run(words):
    """The exit status."""
    args = list(words)
    while args and args[0].startswith("-"):
        option = args.pop(0)
        name, equals, value = option.partition("=")
        if option == "-C":
            folder = args.pop(0) if args else ""
            try:
                os.chdir(folder)
            except OSError:
                raise Failure(f"cannot change to '{folder}': No such file or directory") from None
        elif option == "-c":
            repository.OVERRIDES.append(args.pop(0) if args else "")
        elif name in ("--git-dir", "--work-tree"):
            os.environ["GIT_DIR" if name == "--git-dir" else "GIT_WORK_TREE"] = value if equals else args.pop(0)
        elif option in ("--version", "-v"):
            say(f"git version {VERSION}\n")
            return 0
        elif option in ("--help", "-h"):
            say(usage())
            return 0
        elif option not in (
            "--no-pager",
            "-P",
            "-p",
            "--paginate",
            "--no-optional-locks",
            "--literal-pathspecs",
            "--no-replace-objects",
        ):
            tell(f"unknown option: {option}\n{usage()}")
            return 129
    if not args:
        say(usage())
        return 1
    name, *args = args
    if name == "help":
        say(usage())
        return 0
    if name == "version":
        say(f"git version {VERSION}\n")
        return 0
    if name in ABSENT:
        return ABSENT[name]
    if name not in COMMANDS:
        tell(f"git: '{name}' is not a git command. See 'git --help'.\n\nThere are: {', '.join(sorted(COMMANDS))}\n")
        return 1
    if args in (["-h"], ["--help"]):
        say(f"usage: git {name} [<args>], as git {VERSION} has it\n")
        return 129
    return COMMANDS[name](args) or 0


def main():
    """Runs `sys.argv`."""
    # THREAT[TM-POL-START]: this program is ours alone: nothing of the session's files is imported into it.
    sys.path[:] = [path for path in sys.path if path.startswith("/usr/local/lib/")]
    try:
        code = run(sys.argv[1:])
    except Failure as failure:
        tell(failure.text.rstrip("\n") + "\n")
        code = failure.status
    except repository.FileLocked as locked:
        tell(f"fatal: Unable to create '{os.fsdecode(locked.lockfilename)}': File exists.\n")
        code = 128
    except BrokenPipeError:
        code = 141
    except OSError as error:
        tell(f"fatal: {os.fsdecode(error.filename or b'')}: {error.strerror}\n")
        code = 128
    except MemoryError:
        tell("fatal: Out of memory\n")
        code = 128
    except repository.BROKEN as error:
        tell(
            f"fatal: the repository is broken, or holds what this git does not know: {type(error).__name__}: {str(error)[:500]}\n"
        )
        code = 128
    sys.exit(code)
