"""A long campaign against snapshots: damaged seals, and forged contents inside of valid seals.

    python -m tests.sandbox.snapshot_campaign --count 1000000 --seed 1 [--seconds 3600] [--start 0] [--inside 0.3]

Each number is one mutation of one of a few small snapshots, made from the seed and the number alone. Every one must be
refused with a code of the contract, or (contents only: whoever forges those has the key) thaw into a session that answers a
program with a result. Anything else ends the campaign with the number that reproduces it, as does memory that has grown.
"""

from __future__ import annotations

import argparse
import copy
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import cbor2
import zstandard

import hatchway
from sandbox.encoding import cbor
from sandbox.encoding.sealing import Keys, open_seal, seal
from sandbox.errors import RequestError
from sandbox.sessions.session import Session
from sandbox.snapshots import snapshot_format
from sandbox.wire import Language, RunRequest, SessionLimits

KEYS = Keys.of(bytes(range(32)))
TENANT = "acme"
CODES = ("SNAPSHOT_CORRUPT", "SNAPSHOT_VERSION_MISMATCH", "MEMORY_EXCEEDED", "INVALID_ARGUMENT")
PROGRAMS = (
    ("shell", "x=1; f() { echo $x; }; echo hi > a; mkdir d; ln -s a l; ln a b; exec 5< a"),
    ("shell", "mkdir -p a/b/c; for i in 1 2 3 4 5; do echo $i > a/b/c/$i; done"),
    ("javascript", "var a = [1, 2, 3]; function f() { return a }"),
)
GROWTH_MB_MAX = 300
RUN_SHARE = 0.02
_LIMITS = SessionLimits(memory_mb=64, cpu_ms=300, wall_ms=3000, max_stdout_bytes=1000, max_external_calls=1, max_stack_depth=64)
_EVIL: tuple[Any, ...] = (
    0, 1, -1, 23, 255, 1 << 16, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, (1 << 63) - 1, (1 << 64) - 1, -(1 << 63), True, None,
    "", "a" * 300, "../../etc/passwd", "/", ".", "..", "\0", "shell", "python", "file", "directory", "symlink", "standard", b"",
    bytes(31), bytes(32), b"\xff" * 4096, [], [[]] * 8, {}, {"shell": {}},
)  # fmt: skip
_BOMBS = (
    b"\x81" * 5000,
    b"\xa1\x61a" * 5000,
    bytes.fromhex("9b7fffffffffffffff"),
    bytes.fromhex("bb7fffffffffffffff"),
    bytes.fromhex("5b7fffffffffffffff"),
    bytes.fromhex("7bffffffffffffffff"),
    bytes.fromhex("9affffffff"),
    bytes.fromhex("d81c81d81d00"),
    bytes.fromhex("c24101"),
    bytes.fromhex("d82340"),
    bytes.fromhex("bf6161f5ff"),
    bytes.fromhex("9fff"),
    bytes.fromhex("fb7ff0000000000000"),
    b"\x99\x10\x00" + b"\xf6" * 4096,
    b"\x9a\x00\x01\x00\x00" + b"\x80" * 65536,
)

Chance = random.Random
Attack = Callable[[bytes, Chance], bytes]
"""The bytes of one attack: of a sealed snapshot, or of what is inside of one."""


def samples() -> list[bytes]:
    found = []
    for language, code in PROGRAMS:
        with hatchway.Sandbox(language=language) as box:
            box.run(code)
            found.append(box.snapshot(keys=KEYS, tenant=TENANT))
    return found


def scramble(data: bytes, chance: Chance) -> bytes:
    """A few bytes flipped, set, left out, put in or copied."""
    mutated = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(mutated))
        kind = chance.randrange(5)
        if kind == 0:
            mutated[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            mutated[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, 0x18, 0x58, 0x9F, 0xBF, 0xD8))
        elif kind == 2 and len(mutated) > 8:
            del mutated[at : at + chance.randint(1, 8)]
        elif kind == 3:
            mutated[at:at] = chance.randbytes(chance.randint(1, 8))
        else:
            other = chance.randrange(len(mutated))
            mutated[at : at + 16] = mutated[other : other + 16]
    return bytes(mutated)


def flip(data: bytes, chance: Chance) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def truncate(data: bytes, chance: Chance) -> bytes:
    return data[: chance.randrange(len(data))]


def flip_head(data: bytes, chance: Chance) -> bytes:
    """A bit before the ciphertext: tag, protected header, nonce, lengths."""
    return flip(data[:80], chance) + data[80:]


def part(packed: bytes, chance: Chance) -> bytes:
    """One bit of one part, everything around it as it should be."""
    body = cbor2.loads(packed)
    name = chance.choice(("manifest", "masks", "chunks", "data"))
    change = chance.choice((flip, scramble, truncate))
    if name == "masks":
        guest = chance.choice(sorted(body["masks"]))
        body["masks"][guest] = change(body["masks"][guest], chance)
    elif name == "data":
        index = chance.randrange(len(body["data"]))
        body["data"][index] = change(body["data"][index], chance)
    elif body[name]:
        body[name] = change(body[name], chance)
    return cbor.encode(body)


def field(packed: bytes, chance: Chance) -> bytes:
    """One value of the manifest, or of the pack, replaced by another one of the same manifest or by an evil one."""
    body = cbor2.loads(packed)
    manifest = cbor2.loads(body["manifest"])
    inner = chance.random() < 0.9
    places = _places(manifest if inner else body)
    holder, key = chance.choice(places)
    if chance.random() < 0.15:
        del holder[key]
    elif chance.random() < 0.3:
        other, name = chance.choice(places)
        holder[key] = copy.deepcopy(other[name])
    elif isinstance(holder[key], bytes) and holder[key]:
        holder[key] = scramble(holder[key], chance)
    elif isinstance(holder[key], int) and chance.random() < 0.5:
        holder[key] += chance.choice((-65536, -4096, -1, 1, 4096, 65536))
    else:
        holder[key] = chance.choice(_EVIL)
    if inner:
        body["manifest"] = cbor.encode(manifest)
    return cbor.encode(body)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a tree of maps and arrays, as what holds it and the key there."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, (dict, list)):
            for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
                found.append((holder, key))
                waiting.append(holder[key])
    return found


def bomb(packed: bytes, chance: Chance) -> bytes:
    """CBOR and zstd that are small and want to become large, as a whole or as a part."""
    made = chance.choice(_BOMBS)
    if chance.random() < 0.3:
        return made
    body = cbor2.loads(packed)
    kind = chance.randrange(3)
    if kind == 0:
        body["manifest"] = made
    elif kind == 1:
        level, size = chance.randint(1, 3), chance.choice((1, 1 << 12, 1 << 20, 3 << 20, (3 << 20) + 1, 64 << 20))
        body["data"] = [zstandard.ZstdCompressor(level=level).compress(bytes(size))] * chance.randint(1, 4)
    else:
        whole = zstandard.ZstdDecompressor().decompress(body["data"][0])
        sizeless = chance.random() < 0.5
        body["data"] = [zstandard.ZstdCompressor(write_content_size=not sizeless).compress(whole + bytes(chance.randint(0, 1)))]
    return cbor.encode(body)


OUTSIDE: tuple[Attack, ...] = (scramble, flip, flip_head, truncate)
INSIDE: tuple[Attack, ...] = (scramble, truncate, part, part, field, field, field, bomb)


def forge(blobs: list[bytes], chance: Chance) -> str:
    """A snapshot from bytes that nobody with the key has made; what became of it."""
    blob = chance.choice(blobs)
    kind = chance.randrange(len(OUTSIDE) + 3)
    tenant, mutated = TENANT, blob
    if kind < len(OUTSIDE):
        mutated = OUTSIDE[kind](blob, chance)
    elif kind == len(OUTSIDE):
        tenant = chance.choice(("acm", "acme ", "ACME", "", "other", "acme\0"))
    elif kind == len(OUTSIDE) + 1:  # a valid seal, of something else
        inner = open_seal(blob, KEYS, tenant=TENANT, purpose="snapshot")
        mutated = seal(inner, KEYS, tenant=TENANT, purpose=chance.choice(("recording", "page", "manifest", "snapshot ")))
    else:
        at = chance.randrange(1, len(blob))
        mutated = blob[:at] + chance.choice([one for one in blobs if one is not blob])[at:]
    snapshot_format.open_snapshot(mutated, KEYS, tenant=tenant)
    return "unchanged" if (mutated, tenant) in [(one, TENANT) for one in blobs] else "ACCEPTED"


def corrupt(blobs: list[bytes], chance: Chance) -> str:
    """Contents that somebody with the key has forged; what became of them."""
    packed = open_seal(chance.choice(blobs), KEYS, tenant=TENANT, purpose="snapshot")
    mutated = chance.choice(INSIDE)(packed, chance)
    state = snapshot_format.thaw(snapshot_format.unpack(mutated, memory_mb=64))
    session = Session(language=state.language, limits=_LIMITS, state=state)
    try:
        if chance.random() > RUN_SHARE:
            return "thawed"
        request = RunRequest(
            session_id=session.id, language=Language.SHELL, code="echo hi; ls; cat a", inputs={}, return_snapshot=False,
            validate_only=False,
        )  # fmt: skip
        return f"thawed and ran: {session.run(request).status.value}"
    finally:
        session.close()


def attack(blobs: list[bytes], chance: Chance, inside: float) -> str:
    try:
        return (corrupt if chance.random() < inside else forge)(blobs, chance)
    except RequestError as refused:
        return refused.error.code if refused.error.code in CODES else f"UNEXPECTED {refused.error.code}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after that long")
    parser.add_argument("--start", type=int, default=0, help="the first number")
    parser.add_argument("--inside", type=float, default=0.3, help="the share of forged contents inside of valid seals")
    options = parser.parse_args()
    blobs = samples()
    outcomes: Counter[str] = Counter()
    until = time.monotonic() + options.seconds
    before_mb = 0.0
    for number in range(options.start, options.start + options.count):
        chance = random.Random(f"{options.seed}/{number}")
        try:
            outcome = attack(blobs, chance, options.inside)
        except Exception as error:
            outcome = f"UNEXPECTED {type(error).__name__}: {error}"
        outcomes[outcome] += 1
        done = number + 1 - options.start
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        before_mb = peak_mb if done == 1000 else before_mb
        if before_mb and peak_mb - before_mb > GROWTH_MB_MAX:
            outcome = f"UNEXPECTED memory: {peak_mb - before_mb:.0f} MB more"
        if outcome.startswith(("UNEXPECTED", "ACCEPTED")):
            print(f"--seed {options.seed} --start {number} --inside {options.inside}: {outcome}", file=sys.stderr)
            return 1
        if done % 10_000 == 0:
            print(f"{done:,} of {options.count:,}, {peak_mb:.0f} MB: {dict(outcomes)}", flush=True)
        if time.monotonic() > until:
            break
    print(f"{sum(outcomes.values()):,} mutations, seed {options.seed}: {dict(outcomes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
