"""The fleet: several gateways on one PostgreSQL store, each the owner of some tenants.

In reading order: `ownership_clock` (until when this gateway may act), `tenant_ownership` (which tenants are its own: claims,
losses, and under which epoch a task writes), `mutual_tls` (the shared key and what is made of it), `link` (requests over one
connection), `peers` (the links with other gateways), `forwarding` (a request on its way to its tenant's owner), `membership`
(this gateway's part, joined and left).
"""
