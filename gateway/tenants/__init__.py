"""Tenants, their tokens and their secrets.

In reading order: `tenants` (create, change and delete tenants and tokens), `tokens` (how a token is made and checked), `vault`
(secrets, encrypted with a key of the tenant).
"""
