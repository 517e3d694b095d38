"""Policies over the API: check, explain, compare, put in force.

Rules: nothing here decides; `gateway.policies.in_force` does. A policy that does not compile, whose tests fail or whose
claims are not proved is answered with its diagnostics and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.policies.compiler import (
    Changed,
    Compiled,
    Explained,
    Finding,
    Replayed,
    build_policy,
    decode_file,
    require_programs,
)  # fmt: skip
from gateway.policies.in_force import Policies
from gateway.records import Principal, Record, StoredPolicy
from policy import Policy
from sandbox.capabilities.registry import Capability


class Sources(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy's files by name; `main` is the one to begin with. Hook programs are files too (wasm as base64)."""

    sources: dict[str, str]
    main: str = "policy.hatch"


class Checked(Record, frozen=True, kw_only=True):
    """`ok` means that it may be put in force."""

    ok: bool
    findings: list[Finding]
    name: str = ""
    version: int = 0
    digest: str = ""
    rules: int = 0
    tests: int = 0
    proofs: dict[str, str] = {}


class Question(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What would be decided about `event`? Asked of `sources`, or of the policy in force."""

    event: str
    attributes: dict[str, Any]
    sources: dict[str, str] | None = None
    main: str = "policy.hatch"


class Comparison(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What changes from `old` (or the policy in force) to `new`?"""

    new: Sources
    old: Sources | None = None


class Deploy(Sources, frozen=True, kw_only=True, forbid_unknown_fields=True):
    shadow: bool = False


class Deployed(Record, frozen=True, kw_only=True):
    policy: StoredPolicy
    replayed: Replayed


@dataclass(eq=False)
class Deployments:
    _policies: Policies
    _tools: Callable[[], list[Capability]]

    async def check(self, principal: Principal, asked: Sources) -> Checked:
        compiled = await self._check_usable(principal, asked.sources, asked.main)
        policy = compiled.policy
        if policy is None:
            return Checked(ok=False, findings=compiled.findings)
        return Checked(
            ok=True,
            findings=compiled.findings,
            name=policy.name,
            version=policy.version,
            digest=policy.digest(),
            rules=len(policy.rules),
            tests=compiled.tests,
            proofs=compiled.proofs,
        )

    async def explain(self, principal: Principal, asked: Question) -> Explained:
        if asked.sources is not None:
            policy = await self._compile(principal, asked.sources, asked.main)
        else:
            policy = await self._policies.find_active(principal.tenant)
        attributes = {"tenant": principal.tenant, **asked.attributes}
        return await self._policies.compiler.explain(policy, asked.event, attributes, tenant=principal.tenant)

    async def diff(self, principal: Principal, asked: Comparison) -> list[Changed]:
        new = await self._compile_with_files(principal, asked.new)
        if asked.old is not None:
            old = await self._compile_with_files(principal, asked.old)
        else:
            active = await self._policies.find_active(principal.tenant)
            old = active, await self._policies.programs(principal.tenant, active)
        return await self._policies.compiler.diff(*old, *new, tenant=principal.tenant)

    async def _compile_with_files(self, principal: Principal, asked: Sources) -> tuple[Policy, dict[str, bytes]]:
        sources = self._policies.add_base(asked.sources, self._tools())
        policy = await self._compile(principal, asked.sources, asked.main)
        return policy, {name: decode_file(name, text) for name, text in sources.items()}

    async def deploy(self, principal: Principal, asked: Deploy) -> Deployed:
        policy = await build_policy(await self._check_usable(principal, asked.sources, asked.main), principal.tenant)
        sources = self._policies.add_base(asked.sources, self._tools())
        stored, replayed = await self._policies.activate(
            principal.tenant, policy, sources, asked.main, principal.name, shadow=asked.shadow
        )
        return Deployed(policy=stored, replayed=replayed)

    async def _check_usable(self, principal: Principal, sources: dict[str, str], main: str) -> Compiled:
        """What may be put in force: its hooks have their programs with them, and the tenant fits it."""
        tools = self._tools()
        checked = await self._policies.check(sources, main, tools, tenant=principal.tenant)
        compiled = require_programs(checked, self._policies.add_base(sources, tools))
        if compiled.policy is None or compiled.catalog is None:
            return compiled
        unfit = await self._policies.list_unfit(principal.tenant, compiled.policy.name, compiled.catalog)
        return Compiled(findings=[*compiled.findings, *unfit]) if unfit else compiled

    async def _compile(self, principal: Principal, sources: dict[str, str], main: str) -> Policy:
        checked = await self._policies.check(sources, main, self._tools(), tenant=principal.tenant)
        return await build_policy(checked, principal.tenant)
