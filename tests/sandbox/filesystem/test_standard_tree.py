"""The system that sessions find: what its files say, that it is nobody's to change, and that it costs no session anything."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePath

import pytest

import hatchway
from sandbox.filesystem import standard_tree
from sandbox.filesystem.errnos import EROFS, EXDEV, VfsError
from sandbox.filesystem.vfs import Vfs
from sandbox.snapshots.file_tree import write_tree

ROOT = Path(__file__).parents[3]
UNLISTED = ["git", "ionice", "make", "node", "python", "python3", "rg", "sqlite3", "tsx"]
"""Of the shell's tools, those that `tools.def` keeps out of /usr/bin."""


@pytest.fixture
def system() -> Vfs:
    vfs = Vfs()
    standard_tree.mount(vfs)
    return vfs


@pytest.fixture(scope="module")
def box() -> Iterator[hatchway.Sandbox]:
    with hatchway.Sandbox(language="shell") as box:
        yield box


def test_the_listed_programs_are_those_that_the_shell_has(box: hatchway.Sandbox) -> None:
    commands, own, listed = (
        set(box.run(script).stdout.split()) for script in ("compgen -c", "compgen -b; compgen -k", "ls /usr/bin")
    )
    assert sorted(commands - own - listed) == UNLISTED
    assert sorted(listed - commands) == ["bash", "dash", "sh"]


def test_the_table_of_tools_is_sorted_because_it_is_searched_by_halves() -> None:
    names = re.findall(r"^TOOL\w*\((\w+)", (ROOT / "wasm_modules/shell/tools/tools.def").read_text("utf-8"), re.MULTILINE)
    assert names == sorted(names) and "git" in names


def test_a_wheel_carries_the_table_of_tools() -> None:
    tools = "wasm_modules/shell/tools/tools.def"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    left_out = project["tool"]["hatch"]["build"]["targets"]["wheel"]["exclude"]
    assert (ROOT / tools).exists() and not [one for one in left_out if PurePath(tools).match(one)]


def test_the_system_is_not_charged_to_a_session(system: Vfs) -> None:
    assert (system.used_bytes, system.used_entries) == (0, 0)


def test_the_system_adds_few_nodes_to_the_table_that_sessions_copy(system: Vfs) -> None:
    assert len(system.nodes) - len(Vfs().nodes) < 40


def test_all_programs_are_names_of_one_file(system: Vfs) -> None:
    assert system.stat("/bin/ls").ino == system.stat("/usr/bin/env").ino
    assert system.stat("/bin/ls").nlink == len(system.list_dir("/usr/bin")) == len(standard_tree.PROGRAMS)


@pytest.mark.parametrize("path", ["/etc/passwd", "/etc/new", "/usr/bin/ls", "/bin/new", "/root/x"])
def test_a_guest_cannot_write_to_the_system(system: Vfs, path: str) -> None:
    with pytest.raises(VfsError) as refused:
        system.write_file(path, b"mine")
    assert refused.value.errno == EROFS


def test_links_of_the_system_keep_their_times_and_get_no_further_names(system: Vfs) -> None:
    link = system.lookup(1, "/bin", False)
    with pytest.raises(VfsError) as refused:
        system.set_times(link, 1, 1)
    assert refused.value.errno == EROFS
    with pytest.raises(VfsError) as refused:
        system.link(1, "/bin", False, 1, "/tmp/bin")
    assert refused.value.errno == EXDEV


def test_the_user_that_id_names_is_in_the_list_of_users(box: hatchway.Sandbox) -> None:
    script = 'IFS=: read -r name _ uid gid _ home _ < <(grep "^$(id -un):" /etc/passwd); echo $name $uid $gid $home; id -u; id -g'
    assert box.run(script).stdout == "user 1000 1000 /workspace\n1000\n1000\n"


def test_files_of_the_system_can_be_read_as_scripts_read_them(box: hatchway.Sandbox) -> None:
    result = box.run(
        ". /etc/os-release; echo $ID; cut -d: -f1 /etc/passwd | head -n 1; [ $(cat /etc/hostname) = $(hostname) ] && echo same"
    )
    assert result.stdout == "debian\nroot\nsame\n"


def test_programs_are_where_scripts_look_for_them_and_run_from_there(box: hatchway.Sandbox) -> None:
    script = 'ls /bin/ls; [ -x /bin/sh ] && /usr/bin/env echo run; stat -c %a "$(command -v ls)"; find /usr/bin -name bash'
    assert box.run(script).stdout == "/bin/ls\nrun\n755\n/usr/bin/bash\n"


def test_the_mode_of_a_program_cannot_be_changed(box: hatchway.Sandbox) -> None:
    result = box.run("chmod 600 /bin/ls; echo $?; stat -c %a /bin/cat")
    assert result.stdout == "1\n755\n"


def test_what_was_only_read_of_the_system_is_in_no_snapshot(system: Vfs) -> None:
    standard = system.checkpoint()
    session = Vfs.at(standard)
    session.read_file("/etc/passwd")
    session.read_file("/bin/ls")
    session.read_link("/bin")
    assert write_tree(session.checkpoint(), standard, lambda chunk: chunk).nodes == []
