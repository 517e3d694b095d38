"""Command lines that a program starts: which language runs, which code, with which words.

    sh | bash     -c CODE [name] [args…]   or  FILE [args…]
    python[3]     -c CODE [args…]   or  -m MODULE [args…]   or  FILE [args…]   or  code on standard input
    node          -e CODE [args…]   or  -p CODE             or  FILE [args…]   or  code on standard input
    tsx           FILE [args…]      or  -e CODE
    git, sqlite3  commands of ours that are written in Python
    anything else is a command of the sandbox's shell

Rules: options that change nothing here (`-u`, `-B`) are accepted; one that is not known is refused as the interpreter would.
Does not know: how a program is run.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from sandbox.languages import LANGUAGE_OF_COMMAND, LANGUAGES, Language

_WITHOUT_MEANING: Final = frozenset({
    "-u", "-B", "-E", "-I", "-O", "-OO", "-P", "-q", "-s", "-S", "-x", "--no-warnings", "--experimental-strip-types",
    "--input-type=module", "--enable-source-maps",
})  # fmt: skip
_WITH_VALUE: Final = frozenset({"-W", "-X", "-r", "--require", "--import", "--loader"})
_VERSION: Final = {
    Language.PYTHON: "import platform; print('Python', platform.python_version())",
    Language.JAVASCRIPT: "console.log(process.version)",
    Language.TYPESCRIPT: "console.log('tsx on node ' + process.version)",
}
_OURS: Final = {"git": "git.command", "sqlite3": "sqlite.program"}
"""Commands that are modules of the Python guest's prelude."""
ReadFile = Callable[[str], bytes | None]


class Program(NamedTuple):
    """`words` are the program's arguments, its name first where its language has one. `reads_code`: it came on stdin.
    `is_ours`: a command of the sandbox, not a program of the tenant's."""

    language: Language
    code: str
    words: Sequence[str] = ()
    filename: str | None = None
    reads_code: bool = False
    is_ours: bool = False


class CannotStart(Exception):
    def __init__(self, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def parse(argv: Sequence[str], stdin: bytes, read: ReadFile) -> Program:
    """`read` gives a file's contents, or None."""
    name = argv[0].rpartition("/")[2]
    if name in _OURS:
        return Program(
            Language.PYTHON, f"__import__('_hatchway.{_OURS[name]}', fromlist=['main']).main()", [name, *argv[1:]], is_ours=True
        )
    language = LANGUAGE_OF_COMMAND.get(name)
    if language is None:
        return Program(Language.SHELL, shlex.join(argv))
    if language is Language.SHELL:
        return Program(language, shlex.join([name, *argv[1:]]))  # the shell knows its own options
    return _parse_interpreter(name, language, list(argv[1:]), stdin, read)


def _parse_interpreter(name: str, language: Language, args: list[str], stdin: bytes, read: ReadFile) -> Program:
    while args and args[0].startswith("-") and args[0] != "-":
        option = args.pop(0)
        if option in ("-V", "--version", "-v") and language in _VERSION:
            return Program(language, _VERSION[language])
        if option in ("-c" if language is Language.PYTHON else "-e", "--eval"):
            return Program(language, _value(name, option, args), ["-c", *args])
        if option in ("-p", "-pe", "--print") and language is not Language.PYTHON:
            return Program(language, f"console.log({_value(name, option, args)})", ["-p", *args])
        if option == "-m" and language is Language.PYTHON:
            module = _value(name, option, args)
            return Program(language, f"__import__('runpy').run_module({module!r}, None, '__main__', True)", [module, *args])
        if option in _WITH_VALUE:
            _value(name, option, args)
        elif option not in _WITHOUT_MEANING and not option.startswith(("-W", "-X")):
            raise CannotStart(2 if language is Language.PYTHON else 9, f"{name}: bad option: {option[:80]}")
    if not args or args[0] == "-":
        return Program(language, stdin.decode("utf-8", "replace"), args or [""], reads_code=True)
    contents = read(args[0])
    if contents is None:
        raise CannotStart(
            2 if language is Language.PYTHON else 1, f"{name}: can't open file '{args[0][:200]}': No such file or directory"
        )
    if language is Language.JAVASCRIPT and args[0].endswith(LANGUAGES[Language.TYPESCRIPT].suffixes):
        language = Language.TYPESCRIPT
    return Program(language, contents.decode("utf-8", "replace"), args, filename=args[0])


def _value(name: str, option: str, args: list[str]) -> str:
    if not args:
        raise CannotStart(2, f"{name}: option {option} requires an argument")
    return args.pop(0)


def format_reply(exit_code: int, read_bytes: int, stdout: bytes, stderr: bytes) -> bytes:
    """What the guest that started it is told (ABI.md): its exit status, how much it read, and its output."""
    return b"%d %d %d\n%b%b" % (exit_code, read_bytes, len(stdout), stdout, stderr)
