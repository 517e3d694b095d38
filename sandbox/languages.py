"""Languages: the one table of what programs may be written in, and everything the rest of Hatchway must know about each.

Rules: a new language is a member of `Language` and a row of `LANGUAGES`, in addition to its guest (`wasm_modules`), the way its
variables are listed (`sandbox.snapshots.variables`) and its name in policies (`policy.model.settings`). No other file spells out
languages. What one language alone has (TypeScript's types) is asked for where it matters.
Does not know: how a guest runs.
"""

from __future__ import annotations

import enum
import keyword
import shlex
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec


class Language(str, enum.Enum):
    PYTHON = "python"
    TYPESCRIPT = "type_script"
    JAVASCRIPT = "javascript"
    SHELL = "shell"

    __hash__ = str.__hash__  # an Enum's own runs Python code at every look into a table

    @classmethod
    def _missing_(cls, value: object) -> Language | None:
        """Every spelling people use is understood; the contract's is what goes out."""
        return LANGUAGE_NAMES.get(value) if isinstance(value, str) else None


class LanguageFacts(NamedTuple):
    """`name` is what people, policies and commands call it, the first of its `spellings`; a page shows its `title`. `guest` is
    the image that runs it.

    `reserved` are names that no variable can have. `warm_up` is a program that a new worker runs once, and `ending` what keeps
    the value of a last line from being a program's result. `interpreters` are the commands that run it, with `code_flag` before
    code on the command line. `hooks` are the executor types it has, with a hook's memory in MiB and stack depth. `place` is code
    that sets a program's folder, environment and words: of one in a file its name first, where its language has one.
    """

    title: str
    spellings: tuple[str, ...]
    guest: str
    suffixes: tuple[str, ...]
    place: Callable[[str | None, Sequence[tuple[str, str]], Sequence[str], bool], str]
    reserved: frozenset[str] = frozenset()
    warm_up: str | None = None
    ending: str = ""
    interpreters: tuple[str, ...] = ()
    code_flag: str = "-c"
    hooks: tuple[str, ...] = ()
    hook_limits: tuple[int, int] = (0, 0)

    @property
    def name(self) -> str:
        return self.spellings[0]


def _place_python(cwd: str | None, env: Sequence[tuple[str, str]], words: Sequence[str], is_file: bool) -> str:
    lines = [f"__import__('os').chdir({cwd!r})"] if cwd else []
    lines += [f"__import__('os').environ.update({dict(env)!r})"] if env else []
    lines += [f"__import__('sys').argv[:] = {list(words)!a}"] if len(words) > 1 or is_file else []
    folder = words[0].rpartition("/")[0] if is_file else ""
    lines += [f"__import__('sys').path.insert(0, __import__('os').path.abspath({folder!r}))"] if folder else []
    return "\n".join(lines)


def _place_javascript(cwd: str | None, env: Sequence[tuple[str, str]], words: Sequence[str], is_file: bool) -> str:
    lines = [f"process.chdir({_json(cwd)});"] if cwd else []
    lines += [f"Object.assign(process.env, {_json(dict(env))});"] if env else []
    more = list(words if is_file else words[1:])
    lines += [f"Object.defineProperty(process, 'argv', {{value: ['node', ...{_json(more)}]}});"] if words else []
    return "\n".join([*lines, "undefined"]) if lines else ""


def _place_shell(cwd: str | None, env: Sequence[tuple[str, str]], words: Sequence[str], is_file: bool) -> str:
    lines = [f"cd {shlex.quote(cwd)} || exit 1"] if cwd else []
    lines += [f"export {name}={shlex.quote(value)}" for name, value in env]
    lines += [f"set -- {shlex.join(words)}"] if words else []
    return "\n".join(lines)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


_JAVASCRIPT_KEYWORDS: Final = frozenset({
    "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else", "enum",
    "export", "extends", "false", "finally", "for", "function", "if", "import", "in", "instanceof", "let", "new", "null",
    "return", "static", "super", "switch", "this", "throw", "true", "try", "typeof", "var", "void", "while", "with", "yield",
    "Infinity", "NaN", "undefined",
})  # fmt: skip

LANGUAGES: Final[dict[Language, LanguageFacts]] = {
    Language.PYTHON: LanguageFacts(
        title="Python",
        spellings=("python", "py"),
        guest="python",
        suffixes=(".py",),
        place=_place_python,
        reserved=frozenset(keyword.kwlist),
        warm_up="1",
        ending="\npass",
        interpreters=("python", "python3"),
        hooks=("python",),
        hook_limits=(64, 256),
    ),
    Language.JAVASCRIPT: LanguageFacts(
        title="JavaScript",
        spellings=("javascript", "js"),
        guest="javascript",
        suffixes=(".js", ".cjs", ".mjs"),
        place=_place_javascript,
        reserved=_JAVASCRIPT_KEYWORDS,
        warm_up="1",
        ending="\nvoid 0",
        interpreters=("node", "js"),
        code_flag="-e",
        hooks=("javascript",),
        hook_limits=(32, 256),
    ),
    Language.TYPESCRIPT: LanguageFacts(
        title="TypeScript",
        spellings=("typescript", "type_script", "TypeScript", "ts", "TS"),
        guest="javascript",
        suffixes=(".ts", ".cts", ".mts", ".tsx"),
        place=_place_javascript,
        reserved=_JAVASCRIPT_KEYWORDS,
        ending="\nvoid 0",
        interpreters=("tsx", "ts-node"),
        code_flag="-e",
    ),
    Language.SHELL: LanguageFacts(
        title="Shell",
        spellings=("shell", "bash", "sh"),
        guest="shell",
        suffixes=(".sh", ".bash"),
        place=_place_shell,
        warm_up=":",
        interpreters=("sh", "bash"),
        hooks=("bash", "shell"),
        hook_limits=(10, 32),
    ),
}
"""In the order in which they are offered."""
LANGUAGE_NAMES: Final = {name: language for language, facts in LANGUAGES.items() for name in facts.spellings}
"""Every spelling people use, and what it means."""
NAME_OF: Final = {language: facts.name for language, facts in LANGUAGES.items()}
GUEST_OF: Final = {language: facts.guest for language, facts in LANGUAGES.items()}
GUESTS: Final = tuple(dict.fromkeys(facts.guest for facts in LANGUAGES.values()))
OFFERED: Final = tuple(NAME_OF.values())
LANGUAGE_OF_SUFFIX: Final = {suffix: facts.name for facts in LANGUAGES.values() for suffix in facts.suffixes}
LANGUAGE_OF_COMMAND: Final = {command: language for language, facts in LANGUAGES.items() for command in facts.interpreters}
LANGUAGE_OF_HOOK: Final = {hook: language for language, facts in LANGUAGES.items() for hook in facts.hooks}
