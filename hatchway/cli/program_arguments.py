"""The words after FILE on the command line of `hatchway run`, where a program looks for them.

How: a request has no field for them, so a program of one line sets `sys.argv`, `process.argv` or `$1 …` in the session before the
real one runs. The real one's line numbers and first statements stay as they are.

Rules: a word is data, whatever stands in it: it is written as a literal of the language.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sandbox.errors import RequestError
from sandbox.languages import LANGUAGES
from sandbox.wire import Language

if TYPE_CHECKING:
    from hatchway.box import Sandbox


def give(box: Sandbox, language: Language, name: str, words: Sequence[str]) -> None:
    """Have the next program of `language` find `words` behind its own `name`."""
    done = box.run(_setting(language, [name, *words]), language=language)
    if done.error is not None:
        raise RequestError(done.error.code, f"the program's arguments cannot be given to it: {done.error.message}")


def _setting(language: Language, words: list[str]) -> str:
    try:
        return LANGUAGES[language].give(words)
    except UnicodeEncodeError:
        raise RequestError("INVALID_ARGUMENT", "an argument of the program is not valid UTF-8") from None
