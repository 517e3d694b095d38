"""Words of the interpreter's own memory, which the host writes while the image is made; a session's host knows none of it."""

import array

import _host


def write_words(pairs):
    """Pairs of an address and what to write there."""
    send(b"W", pairs)


def copy_words(pairs):
    """Pairs of an address and another one, from which to copy."""
    send(b"Y", pairs)


def send(opcode, pairs):
    _host.call(opcode + array.array("I", [number for pair in pairs for number in pair]).tobytes())
