"""The rest of a Debian-like system: what programs look at in `/etc`, and where they look for other programs.

Purpose: scripts read `/etc/passwd` and `/etc/os-release`, ask for `/bin/ls`, list `/usr/bin`. These are the answers, the same in
every session, and nothing in them is of the host.

Rules: everything is mounted once into the tree that all sessions share, read-only and outside every quota. INVARIANT: the table
of nodes, which a session copies at its first write, stays small: all programs are names of one node.

Does not know: `/proc`, and files of languages.
"""

from __future__ import annotations

import re
from typing import Final

from sandbox.filesystem.inodes import HostFile
from sandbox.filesystem.vfs import Vfs
from wasm_modules.pinned import BUILT

_TOOLS: Final = BUILT.parent / "shell" / "tools" / "tools.def"
_BUILTINS: Final = ("[", "bash", "dash", "echo", "false", "kill", "printf", "pwd", "sh", "test", "true")
"""Of the shell itself, and programs of Debian too."""
PROGRAMS: Final = tuple(sorted((*_BUILTINS, *re.findall(r"^TOOL(?:_AS)?\((\w+)", _TOOLS.read_text("utf-8"), re.MULTILINE))))
"""What `/usr/bin` lists. Where Debian has links (`sh`, `awk`), these are ordinary names."""

_PROGRAM: Final = b"#!/bin/sh\n# This program is part of the sandbox's shell.\n"

_NOBODY: Final = "/usr/sbin/nologin"
_USERS: Final = (
    ("root", 0, 0, "root", "/root", "/bin/bash"),
    ("daemon", 1, 1, "daemon", "/usr/sbin", _NOBODY),
    ("bin", 2, 2, "bin", "/bin", _NOBODY),
    ("sys", 3, 3, "sys", "/dev", _NOBODY),
    ("sync", 4, 65534, "sync", "/bin", "/bin/sync"),
    ("games", 5, 60, "games", "/usr/games", _NOBODY),
    ("man", 6, 12, "man", "/var/cache/man", _NOBODY),
    ("lp", 7, 7, "lp", "/var/spool/lpd", _NOBODY),
    ("mail", 8, 8, "mail", "/var/mail", _NOBODY),
    ("news", 9, 9, "news", "/var/spool/news", _NOBODY),
    ("uucp", 10, 10, "uucp", "/var/spool/uucp", _NOBODY),
    ("proxy", 13, 13, "proxy", "/bin", _NOBODY),
    ("www-data", 33, 33, "www-data", "/var/www", _NOBODY),
    ("backup", 34, 34, "backup", "/var/backups", _NOBODY),
    ("list", 38, 38, "Mailing List Manager", "/var/list", _NOBODY),
    ("irc", 39, 39, "ircd", "/run/ircd", _NOBODY),
    ("_apt", 42, 65534, "", "/nonexistent", _NOBODY),
    ("nobody", 65534, 65534, "nobody", "/nonexistent", _NOBODY),
    ("user", 1000, 1000, "", "/workspace", "/bin/bash"),
)
_GROUPS: Final = (
    ("root", 0), ("daemon", 1), ("bin", 2), ("sys", 3), ("adm", 4), ("tty", 5), ("disk", 6), ("lp", 7), ("mail", 8), ("news", 9),
    ("uucp", 10), ("man", 12), ("proxy", 13), ("kmem", 15), ("dialout", 20), ("fax", 21), ("voice", 22), ("cdrom", 24),
    ("floppy", 25), ("tape", 26), ("sudo", 27), ("audio", 29), ("dip", 30), ("www-data", 33), ("backup", 34), ("operator", 37),
    ("list", 38), ("irc", 39), ("src", 40), ("shadow", 42), ("utmp", 43), ("video", 44), ("sasl", 45), ("plugdev", 46),
    ("staff", 50), ("games", 60), ("users", 100), ("nogroup", 65534), ("user", 1000),
)  # fmt: skip

FILES: Final[dict[str, str]] = {
    "/etc/passwd": "".join(f"{name}:x:{uid}:{gid}:{gecos}:{home}:{shell}\n" for name, uid, gid, gecos, home, shell in _USERS),
    "/etc/group": "".join(f"{name}:x:{gid}:\n" for name, gid in _GROUPS),
    "/etc/hostname": "hatchway\n",
    "/etc/hosts": "127.0.0.1\tlocalhost\n127.0.1.1\thatchway\n::1\tlocalhost ip6-localhost ip6-loopback\n",
    "/etc/os-release": (
        'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nVERSION="12 (bookworm)"\n'
        'VERSION_CODENAME=bookworm\nID=debian\nVARIANT="Hatchway sandbox"\nVARIANT_ID=hatchway\n'
    ),
    "/etc/debian_version": "12.0\n",
    "/etc/issue": "Debian GNU/Linux 12 \\n \\l\n\n",
    "/etc/shells": "# valid login shells\n/bin/sh\n/usr/bin/sh\n/bin/bash\n/usr/bin/bash\n/bin/dash\n/usr/bin/dash\n",
    "/etc/timezone": "Etc/UTC\n",
}
_PACKAGES: Final = "/usr/local/lib/python3.15/site-packages"
_DIRECTORIES: Final = ("/home", "/mnt", "/opt", "/root", "/srv", "/usr/lib", "/usr/sbin", "/usr/share", "/var/log", _PACKAGES)
_LINKS: Final = {"/home/user": "../workspace", "/bin": "usr/bin", "/lib": "usr/lib", "/sbin": "usr/sbin"}


def mount(vfs: Vfs) -> None:
    """Adds the system to a filesystem that has only the standard tree: before all else, so that its inode numbers stay."""
    vfs.mount_names("/usr/bin", PROGRAMS, HostFile(_PROGRAM, "program"), 0o755)
    for path, text in FILES.items():
        vfs.mount_file(path, HostFile(text.encode(), path))
    for path in _DIRECTORIES:
        vfs.mount_directory(path)
    for path, target in _LINKS.items():
        vfs.mount_link(path, target)
