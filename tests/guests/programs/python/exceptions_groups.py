"""Exception handling in depth: chaining, groups, notes, finally order, custom hierarchy, tracebacks, warnings."""
import sys
import traceback
import warnings


class AppError(Exception):
    code = 1

    def __str__(self):
        return f"[{self.code}] {super().__str__()}"


class NotFound(AppError):
    code = 404


def order():
    log = []
    for i in range(3):
        try:
            log.append(f"try{i}")
            if i == 0:
                continue
            if i == 1:
                raise ValueError(i)
            return log
        except ValueError as e:
            log.append(f"except{e}")
        else:
            log.append("else")
        finally:
            log.append(f"finally{i}")


print(order())
try:
    try:
        {}["missing"]
    except KeyError as e:
        raise NotFound("no such user") from e
except AppError as e:
    e.add_note("asked for by test")
    print(type(e).__name__, e, e.__cause__.__class__.__name__, e.__notes__)
try:
    raise ExceptionGroup("many", [ValueError("v"), TypeError("t"), ExceptionGroup("inner", [KeyError("k"), ValueError("w")])])
except* ValueError as group:
    print("values:", [str(e) for e in group.exceptions if not isinstance(e, ExceptionGroup)], len(group.exceptions))
except* (TypeError, KeyError) as group:
    print("others:", group.message, [type(e).__name__ for e in group.exceptions])


def a():
    b()


def b():
    raise RuntimeError("deep")


try:
    a()
except RuntimeError as e:
    frames = traceback.extract_tb(e.__traceback__)
    print([f.name for f in frames], frames[-1].line, traceback.format_exception_only(e))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("old way", DeprecationWarning)
    print(caught[0].category.__name__, caught[0].message)
for code in ("1/0", "int('x')", "[][5]", "{}['k']", "None.x", "'a' + 1", "undefined", "open('/no/file')", "next(iter([]))", "int.nope", "(1,2)[0] = 3", "len(5)", "import nope_nope", "assert 1 == 2, 'unequal'", "float('abc')", "chr(-1)", "bytes([300])", "sorted([1, 'a'])", "def f(: pass", "  x = 1", "raise SystemExit(3)"):
    try:
        exec(code)
    except SyntaxError as e:
        print(f"{code!r}: {type(e).__name__}")
    except BaseException as e:
        print(f"{code!r}: {type(e).__name__}: {e}")
print(sys.exc_info())
raise NotFound("at the end")
