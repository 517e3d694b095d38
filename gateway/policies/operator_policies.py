"""The operator's own policies, read from files when the service starts: the default, and the base that others narrow.

Rules: a file that cannot be used is a `ConfigurationError` that says why; a service whose policy is wrong does not start. The
programs of the default's hooks lie next to it and are read with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from gateway.configuration import ConfigurationError
from gateway.errors import GatewayError
from gateway.policies.compiler import compile_here, policy_of
from gateway.records import StoredPolicy
from policy import Policy, PolicyError
from policy.lowering.loading import Folder
from policy.model.catalog import Catalog

_SAMPLE: Final = Path(__file__).parents[1] / "samples" / "default.hatch"


class Default(msgspec.Struct, frozen=True):
    """A policy and the programs of its hooks, by name."""

    policy: Policy
    programs: Mapping[str, bytes]


def load_default(path: str, catalog: Catalog) -> Default:
    """The operator's default policy: a file, or the one that comes with Hatchway. One that pins a catalog of its own keeps it."""
    main = Path(path) if path else _SAMPLE
    pins = re.match(r"(?:\s|#[^\n]*\n)*policy[^\n]*\bcatalog\b", _text_of(main))
    try:
        policy = Policy.load(main, catalog=None if pins else catalog)
    except PolicyError as error:
        raise ConfigurationError(f"the policy {main} is refused: {error}") from None
    return Default(policy, _programs_of(policy, main))


def record_of_default(policy: Policy, tenant: str, read_at: int, *, is_active: bool) -> StoredPolicy:
    """A default as a tenant may read it: like a policy of its own, but the operator's."""
    loaded = policy.checked.loaded if policy.checked is not None else None
    units = [*(loaded.base.units if loaded.base is not None else ()), *loaded.units] if loaded is not None else []
    return StoredPolicy(
        digest=policy.digest,
        tenant=tenant,
        name=policy.name,
        version=policy.version,
        main=loaded.main.path if loaded is not None else "",
        sources={one.path: one.source.text for one in units},
        catalog=policy.catalog.to_json().decode(),
        state="active" if is_active else "retired",
        owner="operator",
        created_at=read_at,
        created_by="the operator",
    )


def _programs_of(policy: Policy, main: Path) -> dict[str, bytes]:
    folder, found = Folder(main.parent), dict[str, bytes]()
    for hook in policy.ir.hooks:
        if hook.executor != "webhook":
            program = folder.read(hook.program)
            if program is None:
                raise ConfigurationError(f"the policy {main} has a hook {hook.name} whose program is not there: {hook.program}")
            found[hook.program] = program
    return found


def load_base(path: str) -> tuple[str, str] | None:
    """The operator's base: its name and its text."""
    if not path:
        return None
    text = _text_of(Path(path))
    try:
        return policy_of(compile_here({Path(path).name: text}, Path(path).name)).name, text
    except GatewayError as error:
        raise ConfigurationError(f"the policy {path} is refused: {error}") from None


def _text_of(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise ConfigurationError(f"cannot read the policy {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"the policy {file} is not UTF-8 text") from None
