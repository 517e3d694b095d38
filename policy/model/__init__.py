"""Model: what a policy is about and what it says, with every name resolved.

In reading order: `kinds` (the attributes of a request, and the table of their kinds), `patterns` (conditions that look inside
texts), `json_schema` (fields of a tool's schema), `settings` (limits and fixed lists of words), `catalog` (capabilities and their
fields), `ir` (the canonical form), `decisions` (what a policy answers).
"""
