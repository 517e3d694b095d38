"""Proofs: what holds for every request, shown before a policy is deployed.

In reading order: `rule_analysis` (rules that never apply or overlap), `claims` (`prove`, limits, secrets), `weakening` (the
obligations a change weakens), `narrowing` (`narrows` a base), `policy_tests` (a policy's own tests, coverage, mutants).
"""
