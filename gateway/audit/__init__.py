"""The audit log: how records reach it, and how its chain is verified.

In reading order: `buffer` (records on their way to the store), `verification` (what a chain of digests shows),
`audit_log` (a tenant's log, read page by page, exported and verified).
"""
