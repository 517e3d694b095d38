"""Texts of system errors, with the numbers that Linux has: programs print them, and people know `[Errno 2]`.

`errno` and the attribute of that name have WASI's numbers, by which the interpreter itself knows kinds of errors.
"""

import errno
import gc
import os
import sys

from _hatchway.words import copy_words

LINUX = """
EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV
ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK
ENOSYS ENOTEMPTY ELOOP
"""
MORE = {"ENOTSUP": 95, "EOVERFLOW": 75, "ENOTSOCK": 88, "EADDRINUSE": 98, "ECONNREFUSED": 111, "ETIMEDOUT": 110, "ENOTCONN": 107}
NUMBERS = {
    getattr(errno, name): number
    for name, number in {**{name: place for place, name in enumerate(LINUX.split(), 1)}, **MORE}.items()
    if hasattr(errno, name)
}
TEXT_AT = 68  # where a type has what `str` calls

write_text = OSError.__str__


def show(self):
    text, number = write_text(self), self.errno
    if (
        type(number) is int
        and number in NUMBERS
        and text.startswith(f"[Errno {number}] ")
        and self.strerror == os.strerror(number)
    ):
        return f"[Errno {NUMBERS[number]}]{text[text.index(']') + 1 :]}"
    return text


show.__name__ = "__str__"
show.__qualname__ = "OSError.__str__"


def install():
    """Types of the language do not change by assignment. What `str` calls is copied from a type made after the change."""
    gc.get_referents(vars(OSError))[0]["__str__"] = show
    sys._clear_type_cache()
    kinds = [OSError]
    for kind in kinds:
        kinds += [each for each in kind.__subclasses__() if "__str__" not in vars(each)]
    own = type("Own", (OSError,), {})
    copy_words((id(kind) + TEXT_AT, id(own) + TEXT_AT) for kind in kinds)
