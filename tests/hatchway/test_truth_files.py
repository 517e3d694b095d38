"""Files mean the same in the library, over HTTP, through both clients and in programs: names, permissions, searches."""

from __future__ import annotations

import io
import tarfile

import httpx2 as httpx
import pytest

from tests.gateway.serving import Gateway
from tests.hatchway.surfaces import Box, Refusal, Surface

NOT_PERMITTED = ("EACCES", "FILE_NOT_PERMITTED")
READ_ONLY = ("EACCES", "EPERM", "EROFS", "FILE_READ_ONLY", "NOT_DELETED")


def refused(codes: tuple[str, ...], verb: object, *args: object, **options: object) -> None:
    with pytest.raises(Refusal) as told:
        verb(*args, **options)  # type: ignore[operator]
    assert told.value.code in codes, told.value


def test_a_file_has_one_name_everywhere(surface: Surface) -> None:
    box = surface.open()
    box.write("a.txt", b"needle\n")
    box.write("/workspace/b.txt", b"b")
    assert box.read("/workspace/a.txt") == box.read("a.txt") == b"needle\n" and box.names() == box.names("/workspace")
    code = "import os\n[open(p).read() for p in ('a.txt', '/workspace/a.txt', '/home/user/a.txt')]"
    assert box.run(code).result == ["needle\n"] * 3
    assert box.run("cat a.txt /workspace/a.txt ~/a.txt", language="shell").stdout == "needle\n" * 3
    assert box.run("require('fs').readFileSync('/workspace/a.txt', 'utf8')", language="javascript").result == "needle\n"
    assert box.grep("needle") == ([("/a.txt", 1, "needle")], True)


def test_a_mode_that_one_language_sets_is_seen_by_all_and_over_the_api(surface: Surface) -> None:
    box = surface.open()
    box.write("f", b"1")
    box.chmod("f", 0o640)
    modes = {
        "python": "import os\nprint(oct(os.stat('f').st_mode & 0o777)[2:])",
        "javascript": "console.log((require('fs').statSync('f').mode & 0o777).toString(8))",
        "typescript": "const mode: number = require('fs').statSync('f').mode; console.log((mode & 0o777).toString(8))",
        "shell": "stat -c %a f",
    }
    changes = {
        "python": ("import os\nos.chmod('f', 0o600)", 0o600),
        "javascript": ("require('fs').chmodSync('f', 0o751)", 0o751),
        "shell": ("chmod 644 f", 0o644),
    }
    for language, code in modes.items():
        assert box.run(code, language=language).stdout == "640\n", language
    for language, (code, mode) in changes.items():
        assert box.run(code, language=language).ok and box.mode("f") == mode, language


OPENS = {
    "python": "open('{0}').read()",
    "javascript": "require('fs').readFileSync('{0}', 'utf8')",
    "typescript": "const text: string = require('fs').readFileSync('{0}', 'utf8'); text",
    "shell": "cat '{0}'",
}


def closed(surface: Surface) -> Box:
    """A file that cannot be read, and a directory of each kind that keeps something from the session's user."""
    box = surface.open()
    for folder in ("hidden", "unlisted", "sealed", "open"):
        box.mkdir(folder)
        box.write(f"{folder}/f.txt", b"needle\n")
    box.write("secret.txt", b"needle\n")
    box.chmod("secret.txt", 0o000)
    box.chmod("hidden", 0o600)
    box.chmod("unlisted", 0o300)
    box.chmod("sealed", 0o500)
    return box


def test_permissions_bind_programs_and_callers_alike(surface: Surface) -> None:
    box = closed(surface)
    for path in ("secret.txt", "hidden/f.txt"):
        for language, code in OPENS.items():
            assert not box.run(code.format(path), language=language).ok, (language, path)
        refused(NOT_PERMITTED, box.read, path)
    refused(NOT_PERMITTED, box.write, "secret.txt", b"x")
    refused(NOT_PERMITTED, box.write, "hidden/f.txt", b"x")
    refused(NOT_PERMITTED, box.mode, "hidden/f.txt")
    refused(NOT_PERMITTED, box.chmod, "hidden/f.txt", 0o644)
    refused(NOT_PERMITTED, box.remove, "hidden/f.txt")
    refused(NOT_PERMITTED, box.names, "unlisted")
    assert box.read("unlisted/f.txt") == b"needle\n" and box.names("sealed") == ["f.txt"]


def test_a_directory_without_write_permission_keeps_its_entries(surface: Surface) -> None:
    box = closed(surface)
    refused(NOT_PERMITTED, box.write, "sealed/new.txt", b"x")
    refused(NOT_PERMITTED, box.write, "sealed/deeper/new.txt", b"x")
    refused(NOT_PERMITTED, box.mkdir, "sealed/new")
    refused(NOT_PERMITTED, box.remove, "sealed/f.txt")
    refused(NOT_PERMITTED, box.remove, "sealed", recursive=True)
    box.write("sealed/f.txt", b"other\n")
    assert box.read("sealed/f.txt") == b"other\n" and box.names("sealed") == ["f.txt"]
    assert not box.run("open('sealed/new.txt', 'w')").ok
    box.chmod("sealed", 0o700)
    box.remove("sealed", recursive=True)
    assert "sealed" not in box.names()


def test_a_search_leaves_out_what_cannot_be_read_and_says_so(surface: Surface) -> None:
    box = closed(surface)
    found, complete = box.grep("needle")
    assert [path for path, _, _ in found] == ["/open/f.txt", "/sealed/f.txt"] and not complete
    native = box.run("grep -r needle . ; echo $?", language="shell").stdout.splitlines()
    assert sorted(native[:-1]) == ["./open/f.txt:needle", "./sealed/f.txt:needle"] and native[-1] == "2"


def test_an_archive_leaves_out_what_cannot_be_read_and_counts_it(gateway: Gateway, surfaces: dict[str, Surface]) -> None:
    surface = surfaces["client"]
    box = closed(surface)
    with httpx.Client(base_url=gateway.url, headers={"authorization": f"Bearer {gateway.token}"}, trust_env=False) as http:
        answer = http.get(f"/v1/sessions/{box.inner.id}/archive")
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        names = {one.name.strip("/") for one in archive.getmembers()}
    assert names == {"hidden", "unlisted", "sealed", "sealed/f.txt", "open", "open/f.txt"}
    assert answer.headers["hatchway-skipped"] == "3"
    surface.close_boxes()


CHANGES = {
    "python rename": ("python", "import os\nos.rename('policy', 'p2')"),
    "python rename of the file": ("python", "import os\nos.rename('policy/deep/allow.txt', 'x')"),
    "python write": ("python", "open('policy/deep/allow.txt', 'w')"),
    "python chmod": ("python", "import os\nos.chmod('policy/deep/allow.txt', 0o666)\nopen('policy/deep/allow.txt', 'w')"),
    "python rmtree": ("python", "import shutil\nshutil.rmtree('policy')"),
    "python replace": ("python", "import os\nopen('n', 'w').write('x')\nos.replace('n', 'policy/deep/allow.txt')"),
    "shell mv": ("shell", "mv policy p2"),
    "shell rm": ("shell", "rm -rf policy"),
    "shell write": ("shell", "echo x > policy/deep/allow.txt"),
    "shell ln": ("shell", "ln -sf /dev/null policy/deep/allow.txt"),
    "javascript rename": ("javascript", "require('fs').renameSync('policy', 'p2')"),
    "javascript rm": ("javascript", "require('fs').rmSync('policy', {recursive: true, force: true})"),
    "typescript rename": ("typescript", "const to: string = 'p2'; require('fs').renameSync('policy/deep', to)"),
}


def test_read_only_files_stay_where_and_what_they_are(surface: Surface) -> None:
    box = surface.open()
    box.mkdir("policy")
    box.mkdir("policy/deep")
    surface.seed(box, "policy/deep/allow.txt", "only this")
    for name, (language, code) in CHANGES.items():
        result = box.run(code, language=language)
        assert not result.ok, (name, result)
        assert box.read("policy/deep/allow.txt") == b"only this", name
    refused(READ_ONLY, box.write, "policy/deep/allow.txt", b"x")
    refused(READ_ONLY, box.remove, "policy/deep/allow.txt")
    refused(READ_ONLY, box.remove, "policy/deep", recursive=True)
    refused(READ_ONLY, box.remove, "policy", recursive=True)
    refused(READ_ONLY, box.chmod, "policy/deep/allow.txt", 0o666)
    assert box.read("policy/deep/allow.txt") == b"only this"


def test_a_search_reads_large_files_to_their_end(surface: Surface) -> None:
    box = surface.open()
    box.write("large.txt", b"x" * 63 + b"\n" + b"y" * 63 + b"\n" * 20_000 + b"z\n" * 500_000 + b"the needle\n")
    found, complete = box.grep("needle")
    assert [(path, line) for path, _, line in found] == [("/large.txt", "the needle")] and complete
    assert box.run("grep -c needle large.txt", language="shell").stdout == "1\n"


def test_files_keep_their_bytes_modes_and_links_in_forks(surface: Surface) -> None:
    box = surface.open()
    data = bytes(range(256))
    box.write("b.bin", data)
    box.chmod("b.bin", 0o604)
    box.run("ln -s b.bin l", language="shell")
    child = box.fork()
    assert child.read("b.bin") == data and child.mode("b.bin") == 0o604
    assert child.run("readlink l; stat -c %a b.bin", language="shell").stdout == "b.bin\n604\n"
    child.close()
