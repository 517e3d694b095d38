"""Tab-completion scripts, made from the commands' own parsers so that they cannot fall behind them.

Rules: a place is the commands and verbs that were typed, such as `remote tokens create`; what is offered there are its verbs, its
options and what a word of it may be; after an option that takes one of a few words, these; file names where no verb is expected.
Words that are neither are passed over, so options may stand anywhere.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
from collections.abc import Iterable
from typing import Any

from hatchway.cli import entry
from hatchway.cli.options import add_parser
from policy.tools.commands import add_commands

Places = dict[str, list[str]]


def add_command(commands: Any) -> None:
    completion = add_parser(commands, "completion", description='Add eval "$(hatchway completion bash)" to ~/.bashrc')
    completion.add_argument("shell", choices=["bash", "zsh", "fish"])


def run(options: argparse.Namespace) -> int:
    print(render_script(_build_parsers(), options.shell))
    return 0


def _build_parsers() -> list[tuple[str, argparse.ArgumentParser]]:
    """Parsers by what is typed before their words."""
    others = []
    with contextlib.suppress(ModuleNotFoundError):  # only a checkout has benches
        from benches.__main__ import parser as bench_parser

        others.append(("bench", bench_parser()))
    policy = argparse.ArgumentParser()
    add_commands(policy.add_subparsers())
    modules = (importlib.import_module(module) for module in dict.fromkeys(module for module, _ in entry.COMMANDS.values()))
    return [("", entry.build_parser()), ("", entry.build_command_parser(*modules)), ("policy", policy), *others]


def list_places(parsers: Iterable[tuple[str, argparse.ArgumentParser]]) -> tuple[Places, Places, set[str]]:
    """Words by place, words by place and option, and the places where a verb is expected."""
    words: Places = {"": []}
    values: Places = {}
    expecting: set[str] = set()
    waiting = list(parsers)
    while waiting:
        place, parser = waiting.pop(0)
        offered = words.setdefault(place, [])
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                expecting.add(place)
                waiting += [(f"{place} {name}".strip(), sub) for name, sub in action.choices.items()]
                offered += action.choices
            elif action.option_strings:
                offered += action.option_strings
                values.update(
                    (f"{place} {name}", list(map(str, action.choices))) for name in action.option_strings if action.choices
                )
            else:
                offered += map(str, action.choices or [])
    return {place: list(dict.fromkeys(offered)) for place, offered in words.items()}, values, expecting


def render_script(parsers: Iterable[tuple[str, argparse.ArgumentParser]], shell: str) -> str:
    words, values, expecting = list_places(parsers)
    if shell == "fish":
        return _render_fish(words, values, expecting)
    bash = _render_bash(words, values, expecting)
    return f"autoload -U +X bashcompinit && bashcompinit\n{bash}" if shell == "zsh" else bash


def _render_bash(words: Places, values: Places, expecting: set[str]) -> str:
    def cases(table: Places, more: str = "") -> str:
        return "\n".join(f'    {_quote(place)}) offered="{" ".join(offered)}"{more} ;;' for place, offered in table.items())

    known = "|".join(_quote(place) for place in words if place)
    return (
        "_hatchway() {\n"
        '  local place="" offered="" files=yes word i\n'
        "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
        '    word="${COMP_WORDS[i]}"\n'
        f'    case "${{place:+$place }}$word" in {known}) place="${{place:+$place }}$word" ;; esac\n'
        "  done\n"
        '  case "$place" in\n'
        f"{cases(words)}\n"
        "  esac\n"
        f'  case "$place" in {"|".join(map(_quote, sorted(expecting)))}) files= ;; esac\n'
        '  case "$place ${COMP_WORDS[COMP_CWORD-1]}" in\n'
        f"{cases(values, ' files=')}\n"
        "  esac\n"
        '  COMPREPLY=($(compgen -W "$offered" -- "${COMP_WORDS[COMP_CWORD]}"))\n'
        '  [ -n "$files" ] && COMPREPLY+=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))\n'
        "  return 0\n"
        "}\n"
        "complete -o filenames -F _hatchway hatchway"
    )


def _quote(place: str) -> str:
    return f'"{place}"' if not place or " " in place else place


def _render_fish(words: Places, values: Places, expecting: set[str]) -> str:
    known = " ".join(f"'{place}'" for place in words if place)
    lines = [
        f"set -g __hatchway_places {known}",
        "function __hatchway_at",
        "  set -l place",
        "  set -l typed (commandline -opc)",
        "  for word in $typed[2..-1]",
        "    if contains -- (string join ' ' $place $word) $__hatchway_places",
        "      set place $place $word",
        "    end",
        "  end",
        '  test "$place" = "$argv[1]"; and begin; test (count $argv) -eq 1; or test "$typed[-1]" = "$argv[2]"; end',
        "end",
    ]
    lines += [f"complete -c hatchway -f -n \"__hatchway_at '{place}'\"" for place in sorted(expecting)]
    lines += [
        f"complete -c hatchway -n \"__hatchway_at '{place}'\" -a '{' '.join(offered)}'"
        for place, offered in words.items()
        if offered
    ]
    for place, offered in values.items():
        where, _, option = place.rpartition(" ")
        lines.append(f"complete -c hatchway -n \"__hatchway_at '{where}' '{option}'\" -a '{' '.join(offered)}'")
    return "\n".join(lines)
