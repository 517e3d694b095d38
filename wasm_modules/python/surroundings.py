"""What surrounds a program: its module, its streams, and how deep it may recurse.

Programs can do anything to their interpreter, so the module is kept by reference, and writing to a stream may fail.
"""

import _frozen_importlib
import io
import sys

FRAMES_BELOW = 12  # ours and the driver's, under a program's first frame
FRAMES_FOR_IMPORTS = 2000

main = sys.modules["__main__"]
depth_limit = 256
stdin_was_given = False
set_recursion_limit = sys.setrecursionlimit


def say(text):
    """To stderr, if the program has left one."""
    try:
        sys.stderr.write(text)
    except Exception:
        pass


def flush_streams():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


def renew_stdin(is_given):
    """Every turn has an input of its own: what the one before it read ahead is dropped."""
    global stdin_was_given
    if is_given or stdin_was_given:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), "utf-8", "surrogateescape")
    stdin_was_given = is_given


def limit_recursion(depth):
    """For the turn that begins."""
    global depth_limit
    depth_limit = depth
    set_recursion_limit(depth + FRAMES_BELOW)


def lift_recursion_limit():
    """Our own code after a program's end may go deeper."""
    set_recursion_limit(FRAMES_FOR_IMPORTS)


def limited_recursion(limit):
    """`sys.setrecursionlimit` for programs: up to the session's limit."""
    if limit < 1:
        raise ValueError("recursion limit must be greater or equal than 1")
    set_recursion_limit(min(limit, depth_limit) + FRAMES_BELOW)


find_and_load = _frozen_importlib._find_and_load


def find_and_load_deeply(name, import_):
    """Imports nest deeper than programs do: a module's own imports are not the program's recursion."""
    limit = sys.getrecursionlimit()
    set_recursion_limit(max(limit, FRAMES_FOR_IMPORTS))
    try:
        return find_and_load(name, import_)
    finally:
        set_recursion_limit(limit)
