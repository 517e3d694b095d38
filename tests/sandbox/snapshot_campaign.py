"""A long campaign against snapshots: mutated seals, and mutated contents inside of valid seals.

    python -m tests.sandbox.snapshot_campaign --count 100000 --seed 1

Every mutation must be refused with a contract's code, or (contents only) thaw into a session that runs. Anything else ends the
campaign with the seed and number that reproduce it.
"""

from __future__ import annotations

import argparse
import random
import sys

import hatchway
from sandbox import snapshots
from sandbox.errors import RequestError
from sandbox.sealing import Keys, open_seal
from sandbox.session import Session

KEYS = Keys.of(bytes(range(32)))
CODES = ("SNAPSHOT_CORRUPT", "SNAPSHOT_VERSION_MISMATCH", "MEMORY_EXCEEDED", "INVALID_ARGUMENT")


def samples() -> list[bytes]:
    found = []
    for language, code in (("shell", "x=1; echo hi > a; mkdir d; ln -s a l"), ("javascript", "var a = [1, 2, 3]")):
        with hatchway.Sandbox(language=language) as box:
            box.run(code)
            found.append(box.snapshot(keys=KEYS))
    return found


def mutate(data: bytes, chance: random.Random) -> bytes:
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


def attack(blob: bytes, chance: random.Random) -> str:
    """One mutation; what became of it."""
    inside = chance.random() < 0.7
    try:
        if not inside:
            mutated = mutate(blob, chance)
            snapshots.open_snapshot(mutated, KEYS)
            return "unchanged" if mutated == blob else "ACCEPTED"
        packed = mutate(open_seal(blob, KEYS, purpose="snapshot"), chance)
        state = snapshots.thaw(snapshots.unpack(packed, memory_mb=64))
        Session(language=state.language, state=state).close()
        return "thawed"
    except RequestError as refused:
        return refused.error.code if refused.error.code in CODES else f"UNEXPECTED {refused.error.code}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    blobs = samples()
    outcomes: dict[str, int] = {}
    for number in range(options.count):
        chance = random.Random(f"{options.seed}/{number}")
        try:
            outcome = attack(chance.choice(blobs), chance)
        except Exception as error:
            outcome = f"UNEXPECTED {type(error).__name__}: {error}"
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        if outcome.startswith(("UNEXPECTED", "ACCEPTED")):
            print(f"--seed {options.seed}, number {number}: {outcome}", file=sys.stderr)
            return 1
    print(outcomes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
