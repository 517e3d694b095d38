"""Variables: what a program has named, seen from outside, for people who compare two snapshots.

A small program lists them in a fork, so the session itself is not touched. Texts are cut, and equal texts mean equal values as
far as the language can tell: plain data by its contents, functions and classes by their code, generators by where they stand.
JavaScript does not list what `let`, `const` and `class` declare, so candidates are the identifiers that stand in the memory the
session has written; a variable is one that has a value and is neither a word of the language nor what every object has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from sandbox.engine.limits import MOST, Cancel
from sandbox.filesystem.vfs import Vfs
from sandbox.guests.guest import Guest
from sandbox.guests.state import SessionState
from sandbox.sessions.session import Session
from sandbox.wire import Language, RunRequest

Variables = dict[str, tuple[str, str]]
_LATIN: Final = rb"\xaa\xb5\xba\xc0-\xd6\xd8-\xf6\xf8-\xff"
_NAME: Final = re.compile(rb"[A-Za-z_$%b][A-Za-z0-9_$\xb7%b]{0,1023}" % (_LATIN, _LATIN))
_WIDE: Final = re.compile(rb"(?=[\x00-\xff][\x00-\x03]\x00\x80)", re.DOTALL)
"""The head of an engine's string whose characters have two bytes each: its length, with the highest bit set."""
_WIDE_HEAD_BYTES: Final = 16
_CANDIDATES_MAX: Final = 20_000
_LIMITS: Final = msgspec.structs.replace(MOST, wall_ms=10_000, cpu_ms=10_000, max_stdout_bytes=4 << 20)
_PYTHON: Final = r"""
def __variables():
    import hashlib, pickle, re, types
    def text(value, depth=0):
        if isinstance(value, types.ModuleType):
            return value.__name__
        if isinstance(value, types.FunctionType):
            code = value.__code__
            plain = [c for c in code.co_consts if not isinstance(c, types.CodeType)]
            return f"{value.__qualname__} {hashlib.sha256(code.co_code + repr((plain, code.co_names, value.__defaults__)).encode()).hexdigest()[:16]}"
        if isinstance(value, types.GeneratorType):
            frame = value.gi_frame
            return f"{value.__qualname__} " + (f"line {frame.f_lineno} {frame.f_lasti} {shown(frame.f_locals)}" if frame else "finished")
        if isinstance(value, type) and depth < 2:
            return f"{value.__qualname__} " + " ".join(f"{k}={text(v, depth + 1)}" for k, v in sorted(vars(value).items()) if not k.startswith("__"))
        try:
            digest = hashlib.sha256(pickle.dumps(value)).hexdigest()[:16]
        except BaseException:
            digest = ""
        return f"{shown(value)} {digest}"
    def shown(value):
        try:
            return re.sub("0x[0-9a-f]+", "0x…", repr(value))[:200]
        except BaseException:
            return "?"
    return {name: [type(value).__name__, text(value)] for name, value in list(vars(__import__("__main__")).items()) if not name.startswith("__")}
__variables()
"""  # noqa: E501
_JAVASCRIPT: Final = r"""
(() => {
  const found = {};
  const show = (value) => {
    if (typeof value === 'function') return String(value);
    if (value instanceof Map) return 'Map ' + JSON.stringify([...value]);
    if (value instanceof Set) return 'Set ' + JSON.stringify([...value]);
    if (typeof value === 'object' && value !== null) return JSON.stringify(value) ?? String(value);
    return String(value);
  };
  const standard = new Set([...__standard, 'this', 'null', 'true', 'false']);
  for (const name of new Set([...Object.keys(globalThis), ...__names])) {
    if (standard.has(name)) continue;
    let value;
    try { value = (0, eval)(`(${name})`); } catch { continue; }
    const inherited = name in globalThis && !Object.hasOwn(globalThis, name);
    if (inherited && value === globalThis[name]) continue;
    let text = '?';
    try { text = show(value).slice(0, 10000); } catch {}
    found[name] = [typeof value, text];
  }
  return found;
})()
"""
_PROGRAMS: Final = {Language.PYTHON: _PYTHON, Language.JAVASCRIPT: _JAVASCRIPT}
_STANDARD: Final = "Object.getOwnPropertyNames(globalThis)"
_SHELL: Final = "declare -p; declare -f"
_LINE: Final = re.compile(r"declare (-\S+) ([A-Za-z_]\w*)(?:=(.*))?")
_FUNCTION: Final = re.compile(r"^([A-Za-z_][\w-]*) \(\)\s*\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_SHELLS_OWN: Final = frozenset({"_", "LINENO", "SECONDS", "RANDOM", "SRANDOM", "EPOCHSECONDS", "EPOCHREALTIME", "BASH_COMMAND"})


def list_variables(state: SessionState, guest: str, cancel: Cancel | None = None) -> Variables:
    """The variables of one guest of a session, `python`, `javascript` or `shell`; nothing for a guest that never ran."""
    if guest not in state.guests:
        return {}
    language = Language(guest)
    inputs: dict[str, list[str]] = {}
    if language is Language.JAVASCRIPT:
        inputs = {"__names": _candidates(state, guest), "__standard": _standard(state.metered)}
    session = Session(language=language, limits=_LIMITS, metered=state.metered, state=state)
    try:
        if language is Language.SHELL:
            return _parse_shell(_run(session, language, _SHELL, cancel=cancel)[1])
        found = _run(session, language, _PROGRAMS[language], inputs, cancel)[0]
        named = msgspec.convert(found, dict[str, tuple[str, str]])
        return {name: value for name, value in sorted(named.items()) if name not in inputs}
    except msgspec.ValidationError:
        return {}
    finally:
        session.close()


def _run(
    session: Session, language: Language, code: str, inputs: Mapping[str, object] | None = None, cancel: Cancel | None = None
) -> tuple[object, str]:
    request = RunRequest(
        session_id=session.id, language=language, code=code, inputs=dict(inputs or {}), return_snapshot=False, validate_only=False
    )
    result = session.run(request, cancel=cancel)
    return result.result, result.stdout


def _standard(metered: bool) -> list[str]:
    """The names that every JavaScript session has."""
    session = Session(language=Language.JAVASCRIPT, metered=metered)
    try:
        return msgspec.convert(_run(session, Language.JAVASCRIPT, _STANDARD)[0], list[str])
    finally:
        session.close()


def _candidates(state: SessionState, name: str) -> list[str]:
    frozen, names = state.guests[name], set[str]()
    guest = Guest(frozen.image, Vfs.at(state.files), frozen)
    try:
        for memory in guest.read_pages(frozen.list_written_pages()):
            names.update(name.decode("latin-1") for name in _NAME.findall(memory))
            names.update(_list_wide_names(memory))
            if len(names) > _CANDIDATES_MAX:
                break
    finally:
        guest.close()
    return sorted(names)[:_CANDIDATES_MAX]


def _list_wide_names(memory: bytes) -> Iterator[str]:
    """Names with characters outside of Latin-1, where the engine keeps them."""
    for head in _WIDE.finditer(memory):
        length = int.from_bytes(memory[head.start() : head.start() + 2], "little")
        start = head.start() + _WIDE_HEAD_BYTES
        name = memory[start : start + 2 * length].decode("utf-16-le", "replace")
        if name.replace("$", "_").isidentifier():
            yield name


def _parse_shell(text: str) -> Variables:
    found: Variables = {}
    for line in text.splitlines():
        declared = _LINE.fullmatch(line)
        if declared is not None and declared[2] not in _SHELLS_OWN and not declared[2].startswith("BASH"):
            found[declared[2]] = (declared[1], declared[3] or "")
    for function in _FUNCTION.finditer(text):
        found[f"{function[1]}()"] = ("function", function[2])
    return dict(sorted(found.items()))
