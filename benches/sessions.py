"""Opening and using sessions for measurements.

Rules: an answer that is wrong is never a sample: `run` raises unless the program ended well and, where a value is
expected, with that value. Images are loaded before anything is timed (`ready`), and a language whose guest is not
there is a reason, not a crash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hatchway import RunResult, Sandbox

LANGUAGES = ("python", "javascript", "shell")
ROOMY = {"memory_mb": 1024, "cpu_ms": 600_000, "wall_ms": 600_000}
TITLES = {"python": "Python", "javascript": "JavaScript", "shell": "shell"}
FIRST_PROGRAMS: dict[str, tuple[str, Any]] = {"python": ("1+1", 2), "javascript": ("1+1", 2), "shell": ("echo hi", None)}
_UNCHECKED = object()


def open_box(**options: Any) -> Sandbox:
    import hatchway

    return hatchway.Sandbox(**options)


def run(box: Sandbox, code: str, language: str = "python", expect: Any = _UNCHECKED, **options: Any) -> RunResult:
    """Run a program that must end well."""
    done = box.run(code, language=language, **options)
    if not done.ok:
        reason = done.error.message if done.error is not None else done.stderr
        raise RuntimeError(f"{language} ended with {done.status.value}: {reason[:200]}")
    if expect is not _UNCHECKED and done.result != expect:
        raise RuntimeError(f"{language} answered {done.result!r}, not {expect!r}")
    return done


def first_result(language: str) -> Sandbox:
    """A new session that has answered its first program."""
    box = open_box(language=language)
    code, expected = FIRST_PROGRAMS[language]
    run(box, code, language, expected)
    return box


def ready(language: str) -> str:
    """Load the language's image; empty if it works, else why not."""
    try:
        first_result(language).close()
    except Exception as error:
        return str(error) or type(error).__name__
    return ""
