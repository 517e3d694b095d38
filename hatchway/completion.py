"""Tab-completion scripts, made from the command's own parser so that they cannot fall behind it."""

from __future__ import annotations

import argparse


def _words(parsers: list[argparse.ArgumentParser]) -> dict[str, list[str]]:
    """Words by the command they follow: '' for the top level."""
    words: dict[str, list[str]] = {"": []}
    for action in (action for parser in parsers for action in parser._actions):
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                words[""] += [name] if name not in words[""] else []
                words[name] = [word for a in sub._actions for word in (a.option_strings or a.choices or [])]
        else:
            words[""].extend(action.option_strings)
    return words


def script(parsers: list[argparse.ArgumentParser], shell: str) -> str:
    words = _words(parsers)
    if shell == "fish":
        lines = [f"complete -c hatchway -n __fish_use_subcommand -a {name}" for name in words[""] if not name.startswith("-")]
        for name, options in words.items():
            lines += [f"complete -c hatchway -n '__fish_seen_subcommand_from {name}' -a '{o}'" for o in options if name]
        return "\n".join(lines)
    cases = "\n".join(f'    {name}) words="{" ".join(options)}" ;;' for name, options in words.items() if name)
    bash = (
        "_hatchway() {\n"
        f'  local words="{" ".join(words[""])}"\n'
        '  case "${COMP_WORDS[1]}" in\n'
        f"{cases}\n"
        "  esac\n"
        '  [ "$COMP_CWORD" -eq 1 ] && words="' + " ".join(words[""]) + '"\n'
        '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}") $(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))\n'
        "}\n"
        "complete -o filenames -F _hatchway hatchway"
    )
    return f"autoload -U +X bashcompinit && bashcompinit\n{bash}" if shell == "zsh" else bash
