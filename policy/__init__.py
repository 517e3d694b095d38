"""Hatchway's policy language: text to checked rules to a pure function `decide(event, attributes)`.

    policy = Policy.load("acme.hatch")                      # compiled, tested, proved, or PolicyError with diagnostics
    decision = policy.decide("fs.write", {"tenant": "acme", "path": "/workspace/a", "bytes": 12, "session.tainted": False})
    decision.verdict, decision.rule, decision.limits, decision.hooks

In reading order: `text` (sources, places, diagnostics), `errors`, `syntax` (text to tree), `model` (what rules speak of),
`evaluation` and `solver`, `lowering` (tree to rules), `proofs`, `checker` and `policies` (all of it in one call), `tools` (for
authors), `reference` (the generated reference). Imports no other part of Hatchway. Names are loaded when first used, so that a
program which only decides does not pay for the compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from policy.errors import BundleError, PolicyError, UnsettledClaim
    from policy.model.catalog import Capability, Catalog, CatalogError, Field, builtin_catalog, load_catalog, make_catalog
    from policy.model.decisions import Approval, Decision
    from policy.model.ir import HookCall, Rate
    from policy.policies import Policy, Session, Shadow, compile_policy
    from policy.text.diagnostics import Diagnostic
    from policy.tools.bundles import load_bundle, make_bundle

_HOMES = {
    "policy.errors": "BundleError PolicyError UnsettledClaim",
    "policy.text.diagnostics": "Diagnostic",
    "policy.model.catalog": "Capability Catalog CatalogError Field builtin_catalog load_catalog make_catalog",
    "policy.model.ir": "HookCall Rate",
    "policy.model.decisions": "Approval Decision",
    "policy.policies": "Policy Session Shadow compile_policy",
    "policy.tools.bundles": "load_bundle make_bundle",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "Approval",
    "BundleError",
    "Capability",
    "Catalog",
    "CatalogError",
    "Decision",
    "Diagnostic",
    "Field",
    "HookCall",
    "Policy",
    "PolicyError",
    "Rate",
    "Session",
    "Shadow",
    "UnsettledClaim",
    "builtin_catalog",
    "compile_policy",
    "load_bundle",
    "load_catalog",
    "make_bundle",
    "make_catalog",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'policy' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value
