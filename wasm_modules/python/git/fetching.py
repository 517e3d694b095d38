"""Other repositories, as far as they can be reached, and what is fetched from them."""

import os
import re

from _hatchway.git import repository, revisions
from _hatchway.git.base import Failure, parse, say, tell
from _hatchway.git.pretty import shorten
from dulwich.objects import Commit, Tag, Tree

NETWORK = (
    "unable to access '{}': the sandbox has no network. Work with a repository in the session's files "
    "(git clone /path), upload one, or use a capability (tools.…) that fetches it"
)


def is_network(url):
    return bool(re.match(r"(https?|ssh|git|ftps?)://", url)) or bool(re.match(r"[\w.-]+@[\w.-]+:|[\w-]+\.[\w.-]+:", url))


def open_other(url):
    if is_network(url):
        raise Failure(NETWORK.format(url))
    path = url.removeprefix("file://")
    for place in (path, path + ".git"):
        if os.path.isdir(place) and (os.path.exists(os.path.join(place, ".git")) or repository.is_git_dir(place)):
            return repository.Repository(place)
    return None


def need_other(url):
    found = open_other(url)
    if found is None:
        raise Failure(
            (
                "Could not read from remote repository.\n\nPlease make sure you have the correct "
                "access rights\nand the repository exists."
            ),
            prefix=f"fatal: '{url}' does not appear to be a git repository\nfatal: ",
        )
    return found


def copy_objects(source, target, wanted):
    """All that is reachable from `wanted` and not there yet."""
    todo, seen = list(wanted), set()
    while todo:
        name = todo.pop()
        if name in seen or name in target.store:
            continue
        seen.add(name)
        thing = source.read(name)
        if isinstance(thing, Commit):
            todo += [thing.tree, *thing.parents]
        elif isinstance(thing, Tag):
            todo.append(thing.object[1])
        elif isinstance(thing, Tree):
            todo += [inner for _, mode, inner in source.tree_items(name) if mode != repository.MODULE]
    # INVARIANT: what is there is whole: an object is written after all that it names.
    for name in order(source, seen):
        target.store.add_object(source.read(name))


def order(source, names):
    ranks = {b"blob": 0, b"tree": 1, b"commit": 2, b"tag": 3}
    return sorted(names, key=lambda name: ranks[source.read(name).type_name])


def names_of(source):
    found = {}
    for name in sorted(source.refs.allkeys()):
        if name.startswith((b"refs/heads/", b"refs/tags/")):
            try:
                found[name] = source.refs[name]
            except KeyError:
                pass
    return found


def url_of(repo, name, is_push=False):
    return repo.setting(f"remote.{name}.url") or name


def fetch(args):
    o = parse(
        args,
        (
            "all p|prune t|tags q|quiet v|verbose f|force depth= n|no-tags dry-run progress "
            "k multiple j|jobs= u|update-head-ok unshallow"
        ),
    )
    repo = repository.find()
    settings = repo.repo.get_config()
    known = [section[1].decode() for section in settings.sections() if section[0] == b"remote" and len(section) > 1]
    if o.all or not o.rest:
        own = repo.setting(f"branch.{os.fsdecode(repo.branch_name() or b'')}.remote")
        names = known if o.all else [own if own and own != "." else "origin"]
        if not known and not o.all:
            raise Failure(
                "No remote repository specified.  Please, specify either a URL or a\nremote name "
                "from which new revisions should be fetched."
            )
    else:
        names = o.rest[:1]
    for name in names:
        fetch_one(repo, name, o.rest[1:] if not o.all else [], o, name in known)
    return 0


def fetch_one(repo, name, specs, o, is_named):
    url = url_of(repo, name)
    source = need_other(url)
    refs = names_of(source)
    wanted, heads = choose(source, refs, name, specs, is_named)
    copy_objects(source, repo, [value for _, value in wanted.values()] + [value for _, value in heads])
    told = []
    for to, (ref, value) in wanted.items():
        old = revisions.find_quietly(repo, to) if to in repo.refs else None
        if old == value:
            continue
        told.append(tell_ref(repo, to, ref, old, value))
        repo.set_ref(to, value, "fetch")
    if not o.no_tags:
        told += fetch_tags(repo, source, refs, o)
    if o.prune and is_named:
        told += prune(repo, name, wanted)
    for full, _ in heads:
        told.append(f" * branch            {os.fsdecode(repository.short(full)):<10} -> FETCH_HEAD\n")
    lines = heads or [one for one in wanted.values()]
    with open(os.path.join(repo.git_dir, b"FETCH_HEAD"), "wb") as file:
        for full, value in lines:
            file.write(value + b"\t\tbranch '" + repository.short(full) + b"' of " + os.fsencode(url) + b"\n")
    if told and not o.quiet:
        tell(f"From {url.removesuffix('/')}\n" + "".join(told))


def choose(source, refs, name, specs, is_named):
    """What is kept under which name, and what FETCH_HEAD names."""
    wanted = {}
    if is_named:
        wanted = {
            b"refs/remotes/" + name.encode() + b"/" + ref[11:]: (ref, value)
            for ref, value in refs.items()
            if ref.startswith(b"refs/heads/")
        }
    heads = []
    for spec in specs:
        left, _, right = spec.lstrip("+").partition(":")
        full = next(
            (ref for ref in (left.encode(), b"refs/heads/" + left.encode(), b"refs/tags/" + left.encode()) if ref in refs), None
        )
        if full is None:
            raise Failure(f"couldn't find remote ref {left}")
        heads.append((full, refs[full]))
        if right:
            wanted[right.encode() if right.startswith("refs/") else b"refs/heads/" + right.encode()] = (full, refs[full])
    if specs:
        chosen = {full for full, _ in heads}
        wanted = {to: one for to, one in wanted.items() if one[0] in chosen}
    elif not is_named:
        heads = [(b"HEAD", source.head())]
    return wanted, heads


def fetch_tags(repo, source, refs, o):
    """What is told of them."""
    told = []
    for ref, value in refs.items():
        if not ref.startswith(b"refs/tags/") or ref in repo.refs:
            continue
        if o.tags or revisions.peel(source, value, Commit) in repo.store:
            copy_objects(source, repo, [value])
            repo.refs.set_if_equals(ref, None, value)
            told.append(f" * [new tag]         {os.fsdecode(ref[10:]):<10} -> {os.fsdecode(ref[10:])}\n")
    return told


def prune(repo, name, wanted):
    """Removes what the other no longer has; what is told of it."""
    told = []
    for ref in sorted(repo.refs.allkeys()):
        if ref.startswith(b"refs/remotes/" + name.encode() + b"/") and ref not in wanted and not ref.endswith(b"/HEAD"):
            repo.refs.remove_if_equals(ref, None)
            told.append(f" - [deleted]         (none)     -> {os.fsdecode(repository.short(ref))}\n")
    return told


def tell_ref(repo, to, ref, old, value):
    shown, local = os.fsdecode(repository.short(ref)), os.fsdecode(repository.short(to))
    if old is None:
        return f" * [new branch]      {shown:<10} -> {local}\n"
    one, two = shorten(repo, old).decode(), shorten(repo, value).decode()
    if revisions.is_ancestor(repo, old, value):
        return f"   {one}..{two}  {shown:<10} -> {local}\n"
    return f" + {one}...{two} {shown:<10} -> {local}  (forced update)\n"


def ls_remote(args):
    o = parse(args, "heads tags q|quiet refs exit-code symref h t")
    url = o.rest[0] if o.rest else "origin"
    try:
        url = url_of(repository.find(), url)
    except Failure:
        pass
    source = need_other(url)
    if not o.heads and not o.tags and source.head():
        say(source.head(), b"\tHEAD\n")
    for name, value in names_of(source).items():
        if (o.heads and not name.startswith(b"refs/heads/")) or (o.tags and not name.startswith(b"refs/tags/")):
            continue
        say(value, b"\t", name, b"\n")
    return 0
