"""Commands around a repository: init, config."""

import os
import re

from _hatchway.git import repository, revisions
from _hatchway.git.base import Failure, Usage, parse, say
from dulwich.config import ConfigFile

CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = {}\n"

EXCLUDE = (
    "# git ls-files --others --exclude-from=.git/info/exclude\n# Lines that start with '#' are comments.\n"
    "# For a project mostly in C, the following would be a good set of\n# exclude "
    "patterns (uncomment them if you want to use them):\n# *.[oa]\n# *~\n"
)


def make(git_dir, is_bare, branch=None):
    """Makes a repository, or looks after one that is there. Whether it was."""
    is_there = repository.is_git_dir(git_dir)
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "hooks"):
        os.makedirs(os.path.join(git_dir, folder), exist_ok=True)
    if branch is None:
        settings = repository.read_settings()
        try:
            branch = settings.get((b"init",), b"defaultBranch").decode()
        except KeyError:
            branch = "master"
    revisions.check_branch_name(os.fsencode(branch))
    files = {
        "HEAD": f"ref: refs/heads/{branch}\n",
        "config": CONFIG.format("true" if is_bare else "false") + ("" if is_bare else "\tlogallrefupdates = true\n"),
        "description": "Unnamed repository; edit this file 'description' to name the repository.\n",
        "info/exclude": EXCLUDE,
    }
    for name, text in files.items():
        place = os.path.join(git_dir, name)
        if not os.path.exists(place):
            with open(place, "w") as file:
                file.write(text)
    return is_there


def init(args):
    o = parse(args, "q|quiet bare b|initial-branch= template= shared? separate-git-dir= object-format=")
    if o.get("object-format") not in (None, "sha1") or o.separate_git_dir:
        raise Failure("only repositories with SHA-1 names, and their data in .git, can be made here")
    folder = o.rest[0] if o.rest else "."
    os.makedirs(folder, exist_ok=True)
    git_dir = folder if o.bare else os.path.join(folder, ".git")
    is_there = make(git_dir, bool(o.bare), o.get("initial-branch"))
    if not o.quiet:
        what = "Reinitialized existing" if is_there else "Initialized empty"
        say(f"{what} Git repository in {os.path.realpath(git_dir).rstrip('/')}/\n")


def config(args):
    o = parse(
        args,
        "global local system worktree f|file= l|list get get-all get-regexp unset unset-all add replace-all bool int path type="
        " default= name-only show-origin show-scope z|null e|edit remove-section rename-section includes",
    )
    if o.edit or o.get("rename-section"):
        raise Failure("there is no editor here: use git config NAME VALUE")
    is_reading = (
        o.list
        or o.get_regexp
        or o.get_all
        or o.get("get")
        or (len(o.rest) == 1 and not (o.unset or o.unset_all or o.remove_section))
    )
    path = config_path(o, is_reading)
    if is_reading:
        source = read_config(path) if path else current_settings()
        return show_config(o, source)
    settings = read_config(path, is_needed=False)
    if o.remove_section:
        del settings[split_name(o.rest[0] + ".x")[0]]
    else:
        if not o.rest:
            raise Usage("wrong number of arguments, should be from 1 to 2")
        where, key = split_name(o.rest[0])
        values = list(settings.get_multivar(where, key)) if where in settings else []
        if o.unset or o.unset_all:
            if not values:
                return 5
            settings.remove(where, key)
            if not len(settings[where]):
                del settings[where]
        elif o.add:
            settings.add(where, key, os.fsencode(o.rest[1]))
        else:
            if where in settings and values:
                settings.remove(where, key)
            settings.set(where, key, os.fsencode(typed(o, o.rest[1])))
    settings.write_to_path(path)
    return 0


def config_path(o, is_reading):
    if o.file:
        return o.file
    if o.get("global"):
        return repository.settings_path()
    if o.system:
        return "/etc/gitconfig"
    if is_reading and not o.local:
        return None
    try:
        repo = repository.find()
    except Failure:
        raise Failure("not in a git directory", prefix="error: " if not o.local else "fatal: ") from None
    return os.path.join(repo.repo.commondir(), "config")


def read_config(path, is_needed=False):
    try:
        return ConfigFile.from_path(path)
    except FileNotFoundError:
        return ConfigFile()
    except ValueError as error:
        raise Failure(f"bad config file {path}: {error}") from None


def current_settings():
    try:
        return repository.find().config
    except Failure as failure:
        if failure.text != "fatal: " + repository.NO_REPOSITORY:
            raise
        return repository.read_settings()


def split_name(name):
    section, dot, key = name.rpartition(".")
    if not dot or not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", key):
        raise Failure(
            f"key does not contain a section: {name}" if not dot else f"invalid key: {name}", 1 if dot else 2, "error: "
        )
    kind, _, inner = section.partition(".")
    return ((kind.lower().encode(), os.fsencode(inner)) if inner else (kind.lower().encode(),)), key.encode()


def typed(o, value):
    if o.bool or o.type == "bool":
        if value.lower() not in ("true", "false", "yes", "no", "on", "off", "1", "0", ""):
            raise Failure(f"bad boolean config value '{value}'")
        return "true" if value.lower() in ("true", "yes", "on", "1") else "false"
    return value


def entries(source):
    backends = list(reversed(source.backends)) if hasattr(source, "backends") else [source]
    for backend in backends:
        for section in backend.sections():
            for key, value in backend.items(section):
                yield b".".join((section[0].lower(), *section[1:], key.lower())), value


def show_config(o, source):
    end = b"\0" if o.null else b"\n"
    if o.list:
        for name, value in entries(source):
            say(name, b"" if o.name_only else (b"\n" if o.null else b"=") + value, end)
        return 0
    wanted = o.rest[0]
    if o.get_regexp:
        found = [(name, value) for name, value in entries(source) if re.search(wanted, os.fsdecode(name))]
        for name, value in found:
            say(name, b"" if o.name_only else b" " + value, end)
        return 0 if found else 1
    where, key = split_name(wanted)
    full = b".".join((*where, key.lower()))
    values = [value for name, value in entries(source) if name == full]
    if not values and o.default is not None:
        values = [os.fsencode(o.default)]
    for value in values if o.get_all else values[-1:]:
        say(typed(o, os.fsdecode(value)), end)
    return 0 if values else 1
