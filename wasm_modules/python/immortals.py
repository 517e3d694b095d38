"""Immortal objects: what an image holds is never freed, so references to it need no count.

To count is to write: every session would have its own copy of each page with an object that its programs as much as mention. Only
the host can set a count, so it is told addresses while the image is made (`words`). Programs cannot ask for this.
"""

import gc
import sys
from types import CodeType

from _hatchway.words import write_words

ADDRESSES_AT_ONCE = 4096
IMMORTAL_COUNT = 5 << 28
"""CPython's own count for objects that are never freed, where a pointer has 32 bits."""


def parts_of(one):
    """What an object refers to. The collector does not look into code; its other fields are made when they are asked for."""
    if type(one) is not CodeType:
        return gc.get_referents(one)
    names = (one.co_name, one.co_qualname, one.co_filename)
    return (*names, one.co_consts, one.co_names, one.co_linetable, one.co_exceptiontable)


def immortalize():
    """Every object there is, but for those of this function."""
    gc.unfreeze()  # what the artifact was started with is not listed otherwise
    known = gc.get_objects()  # by the collector; the others are parts of these
    marked = set()
    for one in known:
        pending = [one]
        while pending:
            part = pending.pop()
            if id(part) not in marked and not sys._is_immortal(part):
                marked.add(id(part))
                pending += [other for other in parts_of(part) if not gc.is_tracked(other)]
        if len(marked) >= ADDRESSES_AT_ONCE:
            tell(marked)
    tell(marked)


def tell(marked):
    write_words((address, IMMORTAL_COUNT) for address in marked)
    marked.clear()
