"""Text: sources and places in them, constants in normal form, findings and how they are printed.

In reading order: `sources` (files, offsets, lines), `spelling` (nearest and confusable names), `diagnostics` (findings and the
table of checks), `literals` (units, hosts, paths), `matching` (what a comparison says about a text), `render` (findings as text,
JSON, SARIF).
"""
