"""The operator's own policies, read from files when the service starts: the default, and the base that others narrow.

Rules: a file that cannot be used is a `ConfigurationError` that says why; a service whose policy is wrong does not start. The
programs of their hooks lie next to them and are read with them. The base is about what there is to call here, as the default is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from gateway.configuration import ConfigurationError
from gateway.policies.compiler import BASE_CATALOG, FOLDER, decode_file, encode_file
from gateway.records import StoredPolicy
from policy import Policy, PolicyError
from policy.checker import check
from policy.lowering.loading import Folder, Memory, Unit, load_units
from policy.model.catalog import Catalog
from policy.syntax.tree import Hook, Scope
from policy.text.diagnostics import Findings

_SAMPLE: Final = Path(__file__).parents[1] / "samples" / "default.hatch"


class OperatorBase(msgspec.Struct, frozen=True):
    """The policy that every tenant's must narrow: its texts and the programs of its hooks, by name. `FOLDER` is where it lies
    among the sources of a tenant's policy."""

    name: str
    files: Mapping[str, bytes]
    programs: Mapping[str, bytes]

    def join(self, sources: Mapping[str, str], catalog: Catalog | None) -> dict[str, str]:
        """A tenant's sources with the base in its folder, and with those programs of the base that the tenant did not send.
        `catalog` is what the base is about, if that is not the catalog of the tenant's policy.

        THREAT[TM-POL-BASE]: nothing in that folder is the tenant's.
        """
        own = {name: encode_file(name, data) for name, data in self.programs.items() if name not in sources}
        folder = {name: encode_file(name, data) for name, data in (*self.files.items(), *self.programs.items())}
        if catalog is not None:
            folder[BASE_CATALOG] = catalog.to_json().decode()
        return {**own, **sources, **{FOLDER + name: text for name, text in folder.items()}}


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
    return make_record(
        policy,
        tenant,
        main=loaded.main.path if loaded is not None else "",
        sources={unit.path: unit.source.text for unit in units},
        state="active" if is_active else "retired",
        owner="operator",
        created_at=read_at,
        created_by="the operator",
    )


def make_record(policy: Policy, tenant: str, **fields: Any) -> StoredPolicy:
    """What is stored of a policy."""
    fields |= {"digest": policy.digest, "name": policy.name, "version": policy.version}
    return StoredPolicy(tenant=tenant, catalog=policy.catalog.to_json().decode(), **fields)


def _programs_of(policy: Policy, main: Path) -> dict[str, bytes]:
    folder, found = Folder(main.parent), dict[str, bytes]()
    for hook in policy.ir.hooks:
        if hook.executor != "webhook":
            program = folder.read(hook.program)
            if program is None:
                raise ConfigurationError(f"the policy {main} has a hook {hook.name} whose program is not there: {hook.program}")
            found[hook.program] = program
    return found


def load_base(path: str) -> OperatorBase | None:
    """The operator's base and all that belongs to it, from its own folder; whether it compiles says `check_base`."""
    if not path:
        return None
    main, findings = Path(path), Findings()
    _text_of(main)
    folder = Folder(main.parent)
    units = load_units(main.name, folder, findings)
    header = units[-1].tree.header
    if findings.errors or header is None:
        raise ConfigurationError(f"the policy {path} is refused: {PolicyError.from_diagnostics(findings.sort())}")
    files = {unit.path: unit.source.text.encode() for unit in units[:-1]}
    files[f"{header.name}.hatch"] = units[-1].source.text.encode()
    programs: dict[str, bytes] = {}
    for name in (name for unit in units for name in _list_programs(unit)):
        program = folder.read(name)
        if program is None or decode_file(name, encode_file(name, program)) != program:
            raise ConfigurationError(f"the policy {path} has a hook whose program is not there, or is no UTF-8 text: {name}")
        programs[name] = program
    return OperatorBase(str(header.name), files, programs)


def _list_programs(unit: Unit) -> Iterator[str]:
    for item in unit.tree.items:
        for hook in item.items if isinstance(item, Scope) else (item,):
            if isinstance(hook, Hook) and str(hook.executor) != "webhook":
                yield str(hook.program)[1:-1]


def check_base(base: OperatorBase, catalog: Catalog) -> None:
    """Raises `ConfigurationError` for a base that does not compile with what there is to call here."""
    main = f"{base.name}.hatch"
    checked = check(main, Memory({**base.programs, **base.files}), catalog)
    if not checked.ok:
        raise ConfigurationError(f"the base {main} is refused: {PolicyError.from_diagnostics(checked.diagnostics)}")


def _text_of(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise ConfigurationError(f"cannot read the policy {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"the policy {file} is not UTF-8 text") from None
