"""How much memory a guest has to itself, and how much of it a turn wrote: told by page faults, which cost nothing to ask for.

A page that is written for the first time costs its thread a page fault. Pages themselves are counted only after a turn with many
faults, or many turns with a few: counting takes as long as ten small turns. Faults that tell of no new page are left out: those
of pages that were saved, and those of pages of the image that a first turn only reads. What first turns of an image need is
learned from some of them, for the others of the process.
"""

from __future__ import annotations

import resource
import threading
from typing import Final

from sandbox.engine.memory import PAGE_BYTES, DirtyPages
from sandbox.guests.images import Image

_MEASURE_OVER_FAULTS: Final = 16
"""After a turn with this number of faults, pages are counted again."""
_MEASURE_OVER_FAULTS_BEFORE: Final = 256
"""Or after more turns with this number together: some are the host's."""
_FIRST_TURN_READS_MAX: Final = 192
"""INVARIANT: what one session reads hides no more pages than these that another one writes."""
_FIRST_TURN_BYTES_MAX: Final = 2 << 20
"""A first program that wrote more says nothing about what others will write."""


class _Seen(threading.local):
    """How many page faults this thread had when a guest last looked."""

    faults = 0


_seen: Final = _Seen()


def count_new_faults() -> int:
    """Those of this thread since a guest last looked. The host's own, between two turns, count as the next one's: if they are
    many, pages are counted."""
    before, _seen.faults = _seen.faults, resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    return _seen.faults - before


class MemoryUse:
    def __init__(self, image: Image, own_bytes: int, *, is_new: bool) -> None:
        self._image = image
        self.own_bytes = own_bytes
        """Pages the guest has written, but for a few (`_MEASURE_OVER_FAULTS_BEFORE`). At first those that it is known to need, or
        nothing, and then the first turn is measured too. Memory of a guest never shrinks: this is its peak."""
        self._recent_bytes = own_bytes
        """Those of them that it has written since pages were last saved."""
        self._faults = self._faults_before = 0
        """Of the last turn; of it and those before it since pages were counted."""
        self._known_faults = 0
        """What the next turns have for no new page: one that was saved costs a fault when it is written again."""
        self._is_new = is_new
        """Has the guest taken no turn yet?"""

    @property
    def turn_bytes(self) -> int:
        """Memory that the last turn wrote, or a bit more: what small turns before it wrote since pages were last saved, too."""
        return self._recent_bytes + self._faults * PAGE_BYTES

    def note_turn(self, dirty: DirtyPages) -> None:
        """A turn has ended well."""
        faults, self._is_new, is_first = count_new_faults(), False, self._is_new
        known = min(faults, self._image.first_turn_reads if is_first else self._known_faults)
        if not is_first:  # INVARIANT: each saved page excuses one fault, however many turns it takes
            self._known_faults -= known
            self._recent_bytes += known * PAGE_BYTES
        self._faults = faults - known
        self._faults_before += self._faults
        if self._faults >= _MEASURE_OVER_FAULTS or self._faults_before >= _MEASURE_OVER_FAULTS_BEFORE or not self.own_bytes:
            self.measure(dirty)
            self.learn(dirty, faults, is_first)
            count_new_faults()  # those of measuring are no turn's

    def measure(self, dirty: DirtyPages) -> None:
        own, recent = dirty.count()
        self.own_bytes, self._recent_bytes = own * PAGE_BYTES, recent * PAGE_BYTES
        self._faults = self._faults_before = 0

    def learn(self, dirty: DirtyPages, faults: int, is_first: bool) -> None:
        """What first turns of the image need, from one that was measured."""
        image = self._image
        if not image.first_turn_bytes and self.own_bytes <= _FIRST_TURN_BYTES_MAX:
            image.first_turn_bytes, image.first_turn_ranges = self.own_bytes, dirty.ranges()
        elif is_first:
            more_pages = max(0, self.own_bytes - image.first_turn_bytes) // PAGE_BYTES
            image.first_turn_reads = max(image.first_turn_reads, min(faults - more_pages, _FIRST_TURN_READS_MAX))

    def note_filled(self) -> None:
        """What the memory holds was put there, by no turn."""
        self._recent_bytes = 0

    def note_saved(self) -> None:
        """What it holds is saved."""
        self._known_faults = self._recent_bytes // PAGE_BYTES
        self._recent_bytes = 0
