"""The audit log: how records reach it, and how its chain is verified.

In reading order: `buffer` (records on their way to the store), `verification` (a tenant's log,
read page by page, exported and verified).
"""
