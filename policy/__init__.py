"""Hatchway's policy language: text to checked rules to a pure function `decide(event, attributes)`.

    policy = Policy.load("acme.hatch")                      # compiled, tested, proved, or PolicyError with diagnostics
    decision = policy.decide("fs.write", {"tenant": "acme", "path": "/workspace/a", "bytes": 12, "session.tainted": False})
    decision.verdict, decision.rule, decision.limits, decision.hooks

This package stands alone: it imports no other part of Hatchway.
"""

from policy.catalog import Capability, Catalog, CatalogError, Field, builtin_catalog, load_catalog, make_catalog
from policy.decisions import Approval, Decision, HookCall
from policy.diagnostics import Diagnostic
from policy.errors import BundleError, PolicyError, UnsettledClaim
from policy.ir import Rate
from policy.policies import Policy, Session, Shadow, compile_policy

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
    "load_catalog",
    "make_catalog",
]
