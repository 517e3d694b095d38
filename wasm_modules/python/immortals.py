"""Immortal objects: what an image holds is never freed, so nobody has to count references to it.

To count is to write: every session would have its own copy of each page with an object that its programs as much as mention. Only
the host can set a count, so it is told addresses while the image is made. Programs cannot ask for this: to a session's host the
message is unknown.
"""

import array
import gc
import sys
from types import CodeType

import _host

ADDRESSES_AT_ONCE = 4096


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
    _host.call(b"I" + array.array("I", marked).tobytes())
    marked.clear()
