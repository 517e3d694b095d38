"""What surrounds a program: its module, its streams, how deep it may recurse, and imports.

Programs can do anything to their interpreter, so the module is kept by reference, and writing to a stream may fail. A stream that
a turn leaves closed, or holding text that cannot be written, is made again for the next one.
"""

import _frozen_importlib
import io
import sys
import warnings

FRAMES_BELOW = 12  # ours and the driver's, under a program's first frame
FRAMES_FOR_IMPORTS = 2000
MISSING = object()

main = sys.modules["__main__"]
depth_limit = 256
stdin_was_given = False
lost_streams = ()
get_recursion_limit, set_recursion_limit = sys.getrecursionlimit, sys.setrecursionlimit


def say(text):
    """To stderr, if the program has left one."""
    try:
        sys.stderr.write(text)
    except Exception:
        pass


def flush_streams():
    """Also finds out which of them a program has closed."""
    global lost_streams
    try:
        sys.stdout.flush()
        sys.stderr.flush()
        if not sys.stdin.closed:
            return
    except Exception:
        pass
    lost_streams = tuple(filter(is_lost, ("stdin", "stdout", "stderr")))


def open_stream(name):
    """A new standard stream over the descriptor that is the host's for it."""
    if name == "stdin":
        return io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), "utf-8", "surrogateescape")
    raw = io.FileIO(1 if name == "stdout" else 2, "w", closefd=False)
    raw.name = f"<{name}>"
    stream = io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", "backslashreplace", line_buffering=True)
    stream.mode = "w"
    return stream


def is_lost(name):
    """Is the stream closed or gone, or does ours hold text that it cannot write? A program's own may work in its own way."""
    stream = getattr(sys, name, MISSING)
    try:
        stream.flush()
        return stream.closed
    except ValueError:
        return True  # so say the streams of `io` that are closed
    except Exception:
        return stream is MISSING or stream is getattr(sys, f"__{name}__", None)


def mend_streams():
    """Makes the streams that were lost again."""
    global lost_streams
    still_lost = []
    for name in lost_streams:
        try:
            stream = open_stream(name)
        except OSError:  # the host gives a closed descriptor back before the next turn
            still_lost.append(name)
            continue
        drop(getattr(sys, name, None))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    lost_streams = tuple(still_lost)


def drop(stream):
    """What a stream still holds is the earlier turn's: it must not come out in this one."""
    try:
        stream.buffer.raw.close()
        stream.close()
    except Exception:
        pass


def renew_stdin(is_given):
    """Every turn has an input of its own: what the one before it read ahead is dropped."""
    global stdin_was_given
    if is_given or stdin_was_given:
        sys.stdin = open_stream("stdin")
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
    """`sys.setrecursionlimit` for programs: up to the session's limit, and said so beyond it."""
    if limit < 1:
        raise ValueError("recursion limit must be greater or equal than 1")
    if limit > depth_limit:
        message = f"the recursion limit stays at {depth_limit}, which is this session's; raise limits.max_stack_depth"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    set_recursion_limit(min(limit, depth_limit) + FRAMES_BELOW)


def own_recursion_limit():
    """`sys.getrecursionlimit` for programs: without the frames that are ours."""
    return max(1, get_recursion_limit() - FRAMES_BELOW)


find_and_load = _frozen_importlib._find_and_load


def find_and_load_deeply(*args, **kwargs):
    """Imports nest deeper than programs do: a module's own imports are not the program's recursion."""
    limit = get_recursion_limit()
    set_recursion_limit(max(limit, FRAMES_FOR_IMPORTS))
    try:
        return find_and_load(*args, **kwargs)
    finally:
        set_recursion_limit(limit)


def hide_frame(function, replaced):
    """Our function as the library's own that it stands for: what leaves that out of tracebacks, and of the places of warnings,
    goes by the names of its file and itself."""
    its = replaced.__code__
    function.__code__ = function.__code__.replace(co_filename=its.co_filename, co_name=its.co_name, co_qualname=its.co_qualname)
    return function
