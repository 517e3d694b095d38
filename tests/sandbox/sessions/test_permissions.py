"""Permissions of files: one mechanism for all languages, kept by the filesystem."""

from __future__ import annotations

import pytest

import hatchway
from sandbox.filesystem.vfs import VfsError
from tests.sandbox.sessions.test_nested_programs import sh

# Each language gives 'a' the mode 640, and says what it sees of 'b', which has 750.
_CHANGES = {
    "shell": "chmod 640 a; stat -c '%a %U' b",
    "python": "import os\nos.chmod('a', 0o640)\nfound = os.stat('b')\nprint(format(found.st_mode & 0o7777, 'o'), found.st_uid)",
    "javascript": "const fs = require('fs'); fs.chmodSync('a', 0o640); const s = fs.statSync('b');"
    " console.log((s.mode & 0o7777).toString(8), s.uid)",
}


@pytest.mark.parametrize("language", _CHANGES)
def test_a_mode_set_in_one_language_is_seen_by_the_others_and_by_the_host(box: hatchway.Sandbox, language: str) -> None:
    box.files.write_file("a", b"1")
    box.files.write_file("b", b"1", mode=0o750)
    result = box.run(_CHANGES[language], language=language)
    assert result.error is None and result.stdout == ("750 user\n" if language == "shell" else "750 1000\n"), result
    assert box.files.stat("a").mode == 0o640
    assert sh(box, "stat -c %a a") == "640\n"
    seen = box.run("import os\nprint(oct(os.stat('a').st_mode), os.access('a', os.X_OK))", language="python")
    assert seen.stdout == "0o100640 False\n"


# What the session's user may not do: read 0200, write 0444, list 0300, search 0600, add a name in 0500.
_DENIED = {
    "python": """
import os
def denied(act, *args):
    try: act(*args)
    except PermissionError: return True
print([denied(open, 'unreadable'), denied(open, 'unwritable', 'a'), denied(os.listdir, 'unlisted'),
       denied(os.stat, 'unsearched/f'), denied(open, 'fixed/new', 'w'), denied(os.unlink, 'fixed/f'),
       os.access('unwritable', os.W_OK), os.access('unwritable', os.R_OK)])
""",
    "javascript": """
const fs = require('fs');
const denied = (act) => { try { act(); } catch (e) { return e.code === 'EACCES'; } };
console.log(JSON.stringify([denied(() => fs.readFileSync('unreadable')), denied(() => fs.appendFileSync('unwritable', 'x')),
  denied(() => fs.readdirSync('unlisted')), denied(() => fs.statSync('unsearched/f')),
  denied(() => fs.writeFileSync('fixed/new', '')), denied(() => fs.unlinkSync('fixed/f')),
  !denied(() => fs.accessSync('unwritable', fs.W_OK)), !denied(() => fs.accessSync('unwritable', fs.R_OK))]));
""",
    "shell": """
for act in 'cat unreadable' 'echo x >> unwritable' 'ls unlisted' 'cat unsearched/f' 'touch fixed/new' 'rm fixed/f'; do
  bash -c "$act" 2>&1 >/dev/null | grep -c 'Permission denied'
done
test -w unwritable; echo $?; test -r unwritable; echo $?
""",
}


@pytest.mark.parametrize("language", _DENIED)
def test_permissions_bind_the_sessions_user(box: hatchway.Sandbox, language: str) -> None:
    box.files.write_file("unreadable", b"1", mode=0o200)
    box.files.write_file("unwritable", b"1", mode=0o444)
    for folder, mode in (("unlisted", 0o300), ("unsearched", 0o600), ("fixed", 0o500)):
        box.files.write_file(f"{folder}/f", b"1")
        box.files.chmod(folder, mode)
    result = box.run(_DENIED[language], language=language)
    assert result.error is None, result
    said = result.stdout.strip().lower().replace("\n", " ")
    wanted = "1 1 1 1 1 1 1 0" if language == "shell" else "[true, true, true, true, true, true, false, true]"
    assert said.replace(",", ", ").replace(",  ", ", ") == wanted


def test_the_host_is_bound_as_the_user_is(box: hatchway.Sandbox) -> None:
    sh(box, "echo 1 > f; chmod 200 f; echo 1 > g; chmod 400 g")
    with pytest.raises(VfsError, match="EACCES"):
        box.files.read_file("f")
    with pytest.raises(VfsError, match="EACCES"):
        box.files.write_file("g", b"")


def test_a_script_runs_by_its_path_only_if_it_may_be_executed(box: hatchway.Sandbox) -> None:
    box.files.write_file("run.sh", b"#!/bin/sh\necho ran $1\n")
    code = "import subprocess\nprint(subprocess.run(['./run.sh', 'x'], capture_output=True, text=True).stdout)"
    assert sh(box, "./run.sh a 2>&1; echo $?").endswith("./run.sh: Permission denied\n126\n")
    assert "ran" not in box.run(code, language="python").stdout
    box.files.chmod("run.sh", 0o755)
    assert sh(box, "./run.sh a") == "ran a\n"
    assert box.run(code, language="python").stdout == "ran x\n\n"


def test_the_mask_of_new_files_is_each_guests_own(box: hatchway.Sandbox) -> None:
    assert sh(box, "umask 077; touch a; mkdir d; (umask 0; touch b); touch c; stat -c %a a d b c") == "600\n700\n666\n600\n"
    python = "import os\nopen('p', 'w').close()\nold = os.umask(0o027)\nos.mkdir('q')\nprint(oct(old), oct(os.stat('p').st_mode))"
    assert box.run(python, language="python").stdout == "0o22 0o100644\n"
    assert sh(box, "umask; stat -c %a q") == "0077\n750\n", "it stays from run to run"
    code = "fs.writeFileSync('w', '', { mode: 0o777 }); console.log(process.umask(), fs.statSync('w').mode & 0o777)"
    assert box.run("const fs = require('fs');" + code, language="javascript").stdout == f"{0o022} {0o755}\n"


def test_modes_times_and_the_mask_survive_forks_and_snapshots(box: hatchway.Sandbox) -> None:
    sh(box, "umask 027; echo 1 > a; chmod 751 a; mkdir d; chmod 1700 d; touch -d @5 a")
    look = "stat -c '%a %Y' a; stat -c %a d; umask"
    assert box.fork().run(look, language="shell").stdout == "751 5\n1700\n0027\n"
    restored = hatchway.Sandbox.restore(box.snapshot())
    assert restored.run(look, language="shell").stdout == "751 5\n1700\n0027\n"


def test_a_run_that_is_undone_leaves_modes_and_the_mask_as_they_were(box: hatchway.Sandbox) -> None:
    sh(box, "touch a")
    assert not box.run("chmod 600 a; umask 077; while :; do :; done", language="shell", timeout_ms=300).ok
    assert sh(box, "umask; stat -c %a a; touch b; stat -c %a b") == "0022\n644\n644\n"


def test_what_is_the_hosts_belongs_to_root(box: hatchway.Sandbox) -> None:
    box.files.write_file("rules", b"1", readonly=True)
    said = sh(box, "stat -c '%a %U' rules /etc/passwd /usr/bin/ls /tmp; test -w rules; echo $?; chmod 644 rules 2>&1; true")
    assert said == (
        "444 root\n644 root\n755 root\n1777 user\n1\nchmod: changing permissions of ‘rules’: Operation not permitted\n"
    )


@pytest.mark.parametrize("home", ["/home/user", "/workspace", "~"])
def test_the_home_of_the_user_is_the_workspace(box: hatchway.Sandbox, home: str) -> None:
    assert sh(box, f"echo 1 > {home}/f; cat /workspace/f f") == "1\n1\n"
    assert box.files.read_file("/home/user/f") == box.files.read_file("f") == b"1\n"
