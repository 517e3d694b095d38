"""Proofs: what holds for every request, shown before a policy is deployed.

In reading order: `rule_analysis` (rules that never apply or overlap), `claims` (`prove`, limits, secrets), `strictness` (the one
relation "as strict as"), `narrowing` (`narrows` a base), `policy_tests` (a policy's own tests, coverage, mutants).
"""
