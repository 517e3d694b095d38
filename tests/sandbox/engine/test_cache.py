"""The cache of compiled code: whatever is not exactly what was stored is not found."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from pathlib import Path

import pytest

from sandbox.engine.cache import Cache, default_directory
from sandbox.errors import SetupError

CONTENT = bytes(range(48))


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def stored(cache: Cache) -> Path:
    return cache.store("code", lambda path: path.write_bytes(CONTENT) and None)


def seal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.seal")


def test_stored_file_is_found_again_also_by_another_process(cache: Cache, stored: Path) -> None:
    assert cache.find("code") == stored
    assert Cache(cache.directory).find("code", verify=True) == stored
    assert stored.read_bytes() == CONTENT and stored.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("position", range(len(CONTENT)))
def test_tm_iso_code_flipped_byte_anywhere_is_refused(cache: Cache, stored: Path, position: int) -> None:
    damaged = bytearray(CONTENT)
    damaged[position] ^= 1
    stored.write_bytes(damaged)
    assert cache.find("code") is None
    assert cache.find("code", verify=True) is None


def test_flipped_character_anywhere_in_the_seal_is_refused(cache: Cache, stored: Path) -> None:
    seal = seal_of(stored).read_bytes()
    for position in range(len(seal)):
        damaged = bytearray(seal)
        damaged[position] ^= 1
        seal_of(stored).write_bytes(damaged)
        assert cache.find("code") is None, f"character {position} of the seal"
    seal_of(stored).write_bytes(seal)
    assert cache.find("code") == stored


@pytest.mark.parametrize("length", range(len(CONTENT)))
def test_truncated_file_is_refused(cache: Cache, stored: Path, length: int) -> None:
    os.truncate(stored, length)
    assert cache.find("code") is None


def test_flipped_byte_with_its_time_put_back_is_refused(cache: Cache, stored: Path) -> None:
    before = stored.stat()
    stored.write_bytes(b"\xff" + CONTENT[1:])
    os.utime(stored, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert cache.find("code") is None


def test_file_put_in_place_of_another_is_refused(cache: Cache, stored: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(bytes(reversed(CONTENT)))
    other.rename(stored)
    assert cache.find("code") is None


def test_file_under_a_name_it_was_not_stored_under_is_refused(cache: Cache, stored: Path) -> None:
    for suffix in ("", ".seal"):
        shutil.copy(cache.directory / f"code{suffix}", cache.directory / f"other{suffix}")
    assert cache.find("other") is None
    assert cache.find("code") == stored


def test_seal_made_with_another_key_is_refused(cache: Cache, stored: Path, tmp_path: Path) -> None:
    stranger = Cache(tmp_path / "stranger")
    for suffix in ("", ".seal"):
        shutil.copy(cache.directory / f"code{suffix}", stranger.directory / f"code{suffix}")
    assert stranger.find("code") is None


@pytest.mark.parametrize("seal", [None, b"", b"x", b"\xff\xfe", b"a b c d e f g", b"0 " * 1000])
def test_missing_or_senseless_seal_is_refused(cache: Cache, stored: Path, seal: bytes | None) -> None:
    seal_of(stored).unlink()
    if seal is not None:
        seal_of(stored).write_bytes(seal)
    assert cache.find("code") is None


def test_seal_without_its_file_finds_nothing(cache: Cache, stored: Path) -> None:
    stored.unlink()
    assert cache.find("code") is None


@pytest.mark.parametrize("change", ["touch", "move", "copy"])
def test_file_that_changed_its_identity_but_not_its_contents_is_verified_and_found(
    cache: Cache, stored: Path, change: str
) -> None:
    if change == "touch":
        os.utime(stored, ns=(1, 1))
    elif change == "move":
        stored.rename(stored.with_name("elsewhere")).rename(stored)
    else:
        copy = stored.with_name("copy")
        shutil.copy(stored, copy)
        copy.rename(stored)
    assert cache.find("code") == stored
    resealed = seal_of(stored).read_bytes()
    assert cache.find("code") == stored and seal_of(stored).read_bytes() == resealed


def test_storing_again_replaces_file_and_seal(cache: Cache, stored: Path) -> None:
    cache.store("code", lambda path: path.write_bytes(b"new") and None)
    found = cache.find("code", verify=True)
    assert found is not None and found.read_bytes() == b"new"


def test_failed_write_leaves_the_old_file_and_nothing_else(cache: Cache, stored: Path) -> None:
    def fail(path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    before = sorted(p.name for p in cache.directory.iterdir())
    with pytest.raises(SetupError, match="No space left"):
        cache.store("code", fail)
    assert cache.find("code", verify=True) == stored and stored.read_bytes() == CONTENT
    assert sorted(p.name for p in cache.directory.iterdir()) == before


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_directory_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    directory = tmp_path / "open"
    directory.mkdir()
    directory.chmod(mode)
    with pytest.raises(SetupError, match="written by others"):
        Cache(directory)


def test_directory_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="HATCHWAY_CACHE"):
        Cache(tmp_path / "file" / "cache")


def test_damaged_key_is_refused(cache: Cache) -> None:
    (cache.directory / "key").write_bytes(b"short")
    with pytest.raises(SetupError, match="key"):
        Cache(cache.directory)


def test_key_is_readable_by_its_owner_alone(cache: Cache) -> None:
    assert (cache.directory / "key").stat().st_mode & 0o777 == 0o600
    assert cache.directory.stat().st_mode & 0o777 == 0o700


def test_directory_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HATCHWAY_CACHE", str(tmp_path / "chosen"))
    assert default_directory() == tmp_path / "chosen"
    monkeypatch.delenv("HATCHWAY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_directory() == tmp_path / "hatchway"


def test_prune_keeps_what_is_asked_for_and_the_key(cache: Cache, stored: Path) -> None:
    cache.store("old", lambda path: path.write_bytes(b"x" * 1000) and None)
    assert cache.prune({"code"}) >= 1000
    assert cache.find("old") is None and cache.find("code") == stored
    assert Cache(cache.directory).find("code") == stored


def build_once(directory: Path, ready: multiprocessing.synchronize.Barrier) -> None:
    ready.wait(30)
    cache = Cache(directory)
    with cache.hold_build("code"):
        if cache.find("code") is None:
            with (directory / "builds").open("a") as log:
                log.write("built\n")
            cache.store("code", lambda path: path.write_bytes(CONTENT) and None)


def test_processes_that_want_the_same_thing_at_once_build_it_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    directory = tmp_path / "cache"
    ready = context.Barrier(4)
    builders = [context.Process(target=build_once, args=(directory, ready)) for _ in range(4)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join(60)
    assert [builder.exitcode for builder in builders] == [0, 0, 0, 0]
    assert (directory / "builds").read_text() == "built\n"
    assert Cache(directory).find("code", verify=True) is not None


@pytest.mark.parametrize("mode", [0o666, 0o644, 0o640, 0o604, 0o620])
def test_tm_iso_code_a_key_that_others_can_read_or_change_is_refused(cache: Cache, stored: Path, mode: int) -> None:
    key = cache.directory / "key"
    key.chmod(mode)
    with pytest.raises(SetupError, match=r"not private.*build everything again"):
        Cache(cache.directory)
    key.chmod(0o600)
    assert Cache(cache.directory).find("code") == stored


def test_tm_iso_code_a_key_that_is_a_link_or_no_file_is_refused(cache: Cache, tmp_path: Path) -> None:
    key = cache.directory / "key"
    key.rename(tmp_path / "elsewhere")
    key.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SetupError, match="cannot be read"):
        Cache(cache.directory)
    key.unlink()
    key.mkdir(0o700)
    with pytest.raises(SetupError, match=r"cannot be read|not private"):
        Cache(cache.directory)
