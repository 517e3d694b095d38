"""The fleet: several gateways on one PostgreSQL store, each the owner of some tenants.

In reading order: `ownership_clock` (until when this gateway may act), `tenant_ownership` (which tenants are its own: claims,
losses, and under which epoch a task writes).
"""
