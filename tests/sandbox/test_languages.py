"""The table of languages: whole, without contradictions, and the same wherever languages have to be spelled out."""

from __future__ import annotations

import msgspec
import pytest

from gateway.hooks.specs import Executor
from policy.model.settings import EXECUTORS
from policy.model.settings import LANGUAGES as POLICY_LANGUAGES
from sandbox.guests.images import images
from sandbox.languages import GUESTS, LANGUAGE_NAMES, LANGUAGE_OF_HOOK, LANGUAGE_OF_SUFFIX, LANGUAGES, NAME_OF, Language


def test_every_language_has_a_row_and_a_guest() -> None:
    assert set(LANGUAGES) == set(Language)
    for guest in GUESTS:
        assert images.is_ready(guest) or images.get(guest)
        assert Language(guest).value == guest, "a guest is named after a language it runs"


def test_no_spelling_or_suffix_means_two_languages() -> None:
    assert len(LANGUAGE_NAMES) == sum(len(facts.spellings) for facts in LANGUAGES.values())
    assert len(LANGUAGE_OF_SUFFIX) == sum(len(facts.suffixes) for facts in LANGUAGES.values())
    assert all(Language(name) is language for name, language in LANGUAGE_NAMES.items())


def test_policies_name_the_languages_that_the_sandbox_runs() -> None:
    assert set(POLICY_LANGUAGES) == {*NAME_OF.values(), "wasm"}
    assert set(EXECUTORS) - {"wasm", "webhook"} <= set(LANGUAGE_OF_HOOK)


def test_a_hook_is_decoded_for_each_language_that_has_hooks_and_for_no_other() -> None:
    for hook in LANGUAGE_OF_HOOK:
        assert msgspec.convert({"type": hook}, Executor).type == hook
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"type": "cobol"}, Executor)
