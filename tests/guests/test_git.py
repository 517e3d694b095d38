"""`git` in guests: against what the real one printed, hostile repositories, and repositories made by the real one and for it.

What the real one printed is in `programs/*/git_*.expected`: dates and names are fixed, so that the names of commits are the same.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import tarfile
import zlib
from pathlib import Path

import pytest

import hatchway
from tests.guests.program_campaign import PATIENT, find_programs, read_disagreeing, run_all

PEOPLE = "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b.c\n"
NATIVE = shutil.which("git")
needs_git = pytest.mark.skipif(NATIVE is None, reason="the real git is not installed")


def test_git_prints_what_the_real_one_printed() -> None:
    programs = [one for one in find_programs() if "/git_" in one.name and one.name not in read_disagreeing()]
    assert len(programs) > 10
    wrong = [f"{program.name}:\n{difference}" for program, difference in run_all(programs) if difference]
    assert not wrong, "\n".join(wrong)


def run(box: hatchway.Sandbox, script: str) -> hatchway.RunResult:
    return box.run(PEOPLE + script)


def new_box(**limits: int) -> hatchway.Sandbox:
    return hatchway.Sandbox(language="shell", limits={**PATIENT, **limits})


def put_object(box: hatchway.Sandbox, kind: str, data: bytes, packed: bytes | None = None) -> str:
    """A loose object; `packed` is written in place of it."""
    raw = f"{kind} {len(data)}\0".encode() + data
    name = hashlib.sha1(raw).hexdigest()
    box.files.write_file(f"/workspace/r/.git/objects/{name[:2]}/{name[2:]}", zlib.compress(raw) if packed is None else packed)
    return name


def commit_of(tree: str) -> bytes:
    return f"tree {tree}\nauthor A <a@b.c> 0 +0000\ncommitter A <a@b.c> 0 +0000\n\nx\n".encode()


def test_git_runs_from_python_and_says_what_is_no_command() -> None:
    with hatchway.Sandbox(limits=PATIENT) as box:
        code = (
            "import subprocess\nsubprocess.run(['git', 'init', '-q'])\n"
            "r = subprocess.run(['git', 'frob'], capture_output=True, text=True)\nprint(r.returncode, r.stderr)"
        )
        done = box.run(code)
        assert done.stdout.startswith("1 git: 'frob' is not a git command.") and "cherry-pick" in done.stdout


def test_addresses_of_the_network_say_what_to_use() -> None:
    with new_box() as box:
        done = run(box, "git clone https://example.com/a/b; echo $?; git init -q r; cd r; git fetch ssh://x/y; echo $?")
        assert done.stdout == "128\n128\n" and done.stderr.count("the sandbox has no network") == 2


@pytest.mark.parametrize("path", ["..", ".git", ".GIT", "a\\b/.git"])
def test_tm_git_path_those_that_lead_out_of_the_work_tree_are_refused(path: str) -> None:
    with new_box() as box:
        run(box, "git init -q -b main r")
        blob = put_object(box, "blob", b"bad")
        inner = put_object(box, "tree", b"100644 config\0" + bytes.fromhex(blob))
        tree = put_object(box, "tree", b"40000 " + path.encode() + b"\0" + bytes.fromhex(inner))
        name = put_object(box, "commit", commit_of(tree))
        done = run(
            box,
            f"cd r; before=$(cat .git/config); git reset --hard {name}; echo $?\n"
            '[ "$before" = "$(cat .git/config)" ] && echo same; ls /',
        )
        assert done.stdout.splitlines()[-1] != "config" and "same" in done.stdout
        assert "0" not in done.stdout.splitlines()[0]


def test_tm_git_path_nothing_is_written_through_a_link_of_the_repository() -> None:
    with new_box() as box:
        run(box, "mkdir out; git init -q -b main r")
        blob = put_object(box, "blob", b"/workspace/out")
        inner = put_object(box, "tree", b"100644 file\0" + bytes.fromhex(blob))
        link = put_object(box, "tree", b"120000 d\0" + bytes.fromhex(blob))
        real = put_object(box, "tree", b"40000 d\0" + bytes.fromhex(inner))
        first, second = (put_object(box, "commit", commit_of(tree)) for tree in (link, real))
        done = run(box, f"cd r; git checkout -q {first}; readlink d; git checkout -q {second}; cat d/file; echo; ls ../out")
        assert done.stdout.split() == ["/workspace/out", "/workspace/out"]


def test_broken_repositories_end_with_an_error() -> None:
    with new_box() as box:
        run(box, "git init -q -b main r; cd r; echo a > a; git add a; git commit -qm a")
        bomb = zlib.compress(b"blob 10\0" + bytes(200_000_000), 9)
        name = put_object(box, "blob", b"never", bomb)
        huge = put_object(box, "blob", b"never 2", zlib.compress(b"blob 4000000000\0" + bytes(1000)))
        done = run(box, f"cd r; git cat-file -p {name}; echo $?; git cat-file -p {huge}; echo $?")
        assert done.error is None and done.stdout == "128\n128\n", done
        box.files.write_file("/workspace/r/.git/index", b"DIRC\0\0\0\2\xff\xff\xff\xff" + bytes(64))
        done = run(box, "cd r; git status; echo $?; rm .git/index; echo nonsense > .git/HEAD; git status; echo $?")
        assert done.error is None and done.stdout == "128\n128\n" and "Traceback" not in done.stderr, done


def test_deep_trees_and_broken_packs_end_with_an_error() -> None:
    with new_box() as box:
        run(box, "git init -q -b main r")
        tree = put_object(box, "tree", b"")
        for _ in range(700):
            tree = put_object(box, "tree", b"40000 d\0" + bytes.fromhex(tree))
        name = put_object(box, "commit", commit_of(tree))
        done = run(box, f"cd r; git checkout {name}; echo $?; git ls-tree -r {name}; echo $?")
        assert done.error is None and done.stdout == "128\n128\n" and "deep" in done.stderr, done
        box.files.write_file("/workspace/r/.git/objects/pack/pack-1.pack", b"PACK\0\0\0\2\xff\xff\xff\xff" + bytes(40))
        box.files.write_file("/workspace/r/.git/objects/pack/pack-1.idx", b"\xfftOc\0\0\0\2" + b"\xff" * 1100)
        done = run(box, "cd r; git cat-file -p 1234567890123456789012345678901234567890; echo $?")
        assert done.error is None and done.stdout == "128\n" and "Traceback" not in done.stderr, done


@needs_git
def test_repositories_of_either_are_good_for_the_other(tmp_path: Path) -> None:
    with new_box() as box:
        script = (
            "git init -q -b main r; cd r; mkdir d; for i in $(seq 20); do echo $i > d/$i; git add .; git commit -qm $i; done\n"
        )
        done = run(
            box,
            script + "git tag -a v1 -m v1; git checkout -qb side HEAD~3; echo x > x; git add x; git commit -qm x\n"
            "git merge -q main; tar cf ../r.tar .",
        )
        assert done.error is None and not done.stderr, done
        with tarfile.open(fileobj=io.BytesIO(box.files.read_file("/workspace/r.tar"))) as packed:
            packed.extractall(tmp_path / "r", filter="data")
        checked = native(tmp_path / "r", "fsck", "--strict", "--full")
        assert "error" not in checked and "missing" not in checked, checked
        assert native(tmp_path / "r", "status", "--porcelain") == ""
        native(tmp_path / "r", "gc", "-q")
        (tmp_path / "r" / ".gitattributes").write_text("*.bin binary\n")
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w") as packed:
            packed.add(tmp_path / "r", "packed")
        box.files.write_file("/workspace/packed.tar", made.getvalue())
        done = run(
            box,
            "cd /workspace; tar xf packed.tar; cd packed; git log --format=%H | head -3\n"
            "git tag; git branch; git status -s; git show HEAD~2 --stat | tail -1",
        )
        lines = native(tmp_path / "r", "log", "--format=%H", "-3")
        assert done.stdout.startswith(lines) and "?? .gitattributes" in done.stdout and "v1" in done.stdout, done


def native(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [str(NATIVE), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"HOME": str(folder.parent), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr
