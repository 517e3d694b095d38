"""Events: the moments hooks are told of.

Rules: the first six are the contract's, with its names. `before_run` and `after_run` are ours: what policy files call
`before run` and `after run`. Only three events can block. Types and tables only.
"""

from __future__ import annotations

import enum


class HookEvent(str, enum.Enum):
    SESSION_START = "session_start"
    SESSION_END = "session_end"
    USER_PROMPT_SUBMIT = "user_prompt_submit"
    PRE_TOOL_USE = "pre_tool_use"
    POST_TOOL_USE = "post_tool_use"
    TURN_END = "turn_end"
    BEFORE_RUN = "before_run"
    AFTER_RUN = "after_run"


TOOL_EVENTS = frozenset({HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE})
RUN_EVENTS = frozenset({HookEvent.BEFORE_RUN, HookEvent.AFTER_RUN})
LIFECYCLE_EVENTS = frozenset({HookEvent.SESSION_START, HookEvent.SESSION_END, HookEvent.TURN_END})
BLOCKABLE_EVENTS = frozenset({HookEvent.USER_PROMPT_SUBMIT, HookEvent.PRE_TOOL_USE, HookEvent.BEFORE_RUN})
"""A hook of another event that answers `block` is audited, and changes nothing."""
AFTER_EVENTS = frozenset({HookEvent.POST_TOOL_USE, HookEvent.AFTER_RUN})
"""Hooks of these see results; one that fails with `on_error` block withholds them."""
