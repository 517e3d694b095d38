"""Numbers of system errors as Linux has them: programs print them, compare them, and people know `[Errno 2]`.

How: the interpreter itself, and the C library beneath, have WASI's. An error of theirs is known by its text, which is the one
that the C library has for that number, and is translated where it is read: `str`, `repr`, `errno`, `strerror` and `args`. The
module `errno` has Linux's numbers, of a kind of their own, so that an error which a program makes with one gets the class that
goes with it. Rules: a bare number that a program writes itself (`OSError(2, …)`) has WASI's class where that can happen (2, 20).
"""

import errno
import gc
import operator
import os
import sys

from _hatchway.words import copy_words

LINUX = """
EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV
ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK
ENOSYS ENOTEMPTY ELOOP 41 ENOMSG EIDRM ECHRNG EL2NSYNC EL3HLT EL3RST ELNRNG EUNATCH ENOCSI EL2HLT EBADE EBADR EXFULL ENOANO
EBADRQC EBADSLT 58 EBFONT ENOSTR ENODATA ETIME ENOSR ENONET ENOPKG EREMOTE ENOLINK EADV ESRMNT ECOMM EPROTO EMULTIHOP EDOTDOT
EBADMSG EOVERFLOW ENOTUNIQ EBADFD EREMCHG ELIBACC ELIBBAD ELIBSCN ELIBMAX ELIBEXEC EILSEQ ERESTART ESTRPIPE EUSERS ENOTSOCK
EDESTADDRREQ EMSGSIZE EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT ENOTSUP EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE
EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ESHUTDOWN ETOOMANYREFS ETIMEDOUT
ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EUCLEAN ENOTNAM ENAVAIL EISNAM EREMOTEIO EDQUOT ENOMEDIUM
EMEDIUMTYPE ECANCELED ENOKEY EKEYEXPIRED EKEYREVOKED EKEYREJECTED EOWNERDEAD ENOTRECOVERABLE ERFKILL
"""
TEXTS = """
EADDRINUSE Address already in use
EADDRNOTAVAIL Cannot assign requested address
EBUSY Device or resource busy
ECHILD No child processes
ECONNABORTED Software caused connection abort
EDEADLK Resource deadlock avoided
EDOM Numerical argument out of domain
EDQUOT Disk quota exceeded
EHOSTUNREACH No route to host
EILSEQ Invalid or incomplete multibyte or wide character
EINPROGRESS Operation now in progress
EIO Input/output error
EISCONN Transport endpoint is already connected
ELOOP Too many levels of symbolic links
EMFILE Too many open files
EMSGSIZE Message too long
ENAMETOOLONG File name too long
ENETRESET Network dropped connection on reset
ENETUNREACH Network is unreachable
ENODATA No data available
ENOMEM Cannot allocate memory
ENOTCONN Transport endpoint is not connected
ENOTSOCK Socket operation on non-socket
ENOTSUP Operation not supported
ENOTTY Inappropriate ioctl for device
EOVERFLOW Value too large for defined data type
EOWNERDEAD Owner died
ERANGE Numerical result out of range
ESHUTDOWN Cannot send after transport endpoint shutdown
ESPIPE Illegal seek
ETIME Timer expired
ETIMEDOUT Connection timed out
EXDEV Invalid cross-device link
"""
"""Where the C library has other ones."""
SAME = {"EWOULDBLOCK": "EAGAIN", "EOPNOTSUPP": "ENOTSUP", "EDEADLOCK": "EDEADLK"}
REPR_AT, TEXT_AT = 44, 68  # where a type has what `repr` and `str` call

NEVER = ("EALREADY", "ECHILD", "ECONNABORTED", "ECONNREFUSED", "ECONNRESET", "EINPROGRESS", "ETIMEDOUT", "ESHUTDOWN")
"""What nothing beneath fails with: where there is no network."""

own_text = os.strerror
own_numbers = {name: number for name, number in vars(errno).items() if name.startswith("E")}
write_text, write_repr = OSError.__str__, OSError.__repr__
own_errno, own_strerror, own_args = OSError.errno, OSError.strerror, BaseException.args


class Number(int):
    """A number of the module `errno`."""

    __slots__ = ()

    def __reduce__(self):
        return int, (int(self),)


class OwnNumber(int):
    """Where the interpreter looks for the class of an error: under its own numbers."""

    __slots__ = ()
    __hash__ = int.__hash__

    def __eq__(self, other):
        return type(other) is not Number and int(self) == int(other)


class LinuxNumber(OwnNumber):
    """The same, under those of the module, and bare ones that are not its own."""

    __slots__ = ()
    __hash__ = int.__hash__

    def __eq__(self, other):
        return (type(other) is Number or int(self) not in own_kinds) and int(self) == int(other)


Number.__module__ = "errno"
numbers = {name: number for number, name in enumerate(LINUX.split(), 1) if name.startswith("E")}
numbers |= {name: numbers[other] for name, other in SAME.items()}
to_linux = {number: numbers[name] for name, number in own_numbers.items() if name in numbers and name != "ESHUTDOWN"}
texts = {linux: own_text(own) for own, linux in to_linux.items()}
texts |= {numbers[name]: text for name, _, text in (line.partition(" ") for line in TEXTS.split("\n") if line)}
own_texts = {number: own_text(number) for number in to_linux}
own_kinds = {}


def translate(number, text):
    """A number and its text as Linux has them, of an error that is the interpreter's own; another one's stay."""
    if type(number) is not int or text is None or own_texts.get(number) != text:
        return number, text
    return to_linux[number], texts[to_linux[number]]


def read_errno(self):
    return translate(own_errno.__get__(self), own_strerror.__get__(self))[0]


def read_strerror(self):
    return translate(own_errno.__get__(self), own_strerror.__get__(self))[1]


def read_args(self):
    args = own_args.__get__(self)
    return (*translate(*args[:2]), *args[2:]) if len(args) > 1 else args


def show(self):
    text, number, told = write_text(self), own_errno.__get__(self), own_strerror.__get__(self)
    before = f"[Errno {number}] {told}"
    if type(number) is int and text.startswith(before):
        return "[Errno {}] {}".format(*translate(number, told)) + text[len(before) :]
    return text


def show_exactly(self):
    args = own_args.__get__(self)
    shown = read_args(self)
    return write_repr(self) if shown == args else f"{type(self).__name__}{shown!r}"


def tell(code, /):
    """`os.strerror`."""
    code = operator.index(code)
    return texts.get(code) or (own_text(0) if code == 0 else f"Unknown error {code}")


def named(function, name):
    function.__name__ = name
    function.__qualname__ = f"OSError.{name}"
    return function


def find_kinds():
    """The interpreter's table of classes by numbers."""
    own = set(own_numbers.values())
    gc.unfreeze()
    tables = [table for table in gc.get_referrers(BlockingIOError) if type(table) is dict and own.issuperset(table)]
    gc.freeze()
    (table,) = tables
    return table


def replace_numbers():
    """In the module, and where its numbers have been taken from it."""
    taken = [errno] + [module for name, module in list(sys.modules.items()) if name.startswith(("pathlib", "socket"))]
    for module in taken:
        for name, number in own_numbers.items():
            if name in numbers and vars(module).get(name) == number:
                setattr(module, name, Number(numbers[name]))
    for name in numbers.keys() - own_numbers.keys():
        setattr(errno, name, Number(numbers[name]))
    errno.errorcode.clear()
    errno.errorcode.update({Number(numbers[name]): name for name in numbers if name not in SAME})


def replace_kinds():
    table = find_kinds()
    kinds = dict(table)
    own_kinds.update(kinds)
    table.clear()
    for name in NEVER:
        own_kinds.pop(own_numbers[name], None)
    own_kinds[own_numbers["EPIPE"]] = BrokenPipeError
    table.update({OwnNumber(number): kind for number, kind in own_kinds.items()})
    table.update({LinuxNumber(to_linux[number]): kind for number, kind in kinds.items() if number in to_linux})
    table[LinuxNumber(numbers["ESHUTDOWN"])] = BrokenPipeError


def install():
    """Types of the language do not change by assignment. What `str` and `repr` call is copied from one made after the change."""
    replace_kinds()
    replace_numbers()
    os.strerror = named(tell, "strerror")
    contents = gc.get_referents(vars(OSError))[0]
    contents["__str__"], contents["__repr__"] = named(show, "__str__"), named(show_exactly, "__repr__")
    contents["errno"] = property(named(read_errno, "errno"), own_errno.__set__, own_errno.__delete__)
    contents["strerror"] = property(named(read_strerror, "strerror"), own_strerror.__set__, own_strerror.__delete__)
    contents["args"] = property(named(read_args, "args"), own_args.__set__)
    sys._clear_type_cache()
    own = type("Own", (OSError,), {})
    for name, at in (("__repr__", REPR_AT), ("__str__", TEXT_AT)):
        kinds = [OSError]
        for kind in kinds:
            kinds += [each for each in kind.__subclasses__() if name not in vars(each)]
        copy_words((id(kind) + at, id(own) + at) for kind in kinds)
