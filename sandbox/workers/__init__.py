"""Workers: a tenant's sessions, on threads of this process or in a jailed process.

In reading order: `interface` (the verbs), `local` (sessions on threads), `process_pool` (processes for tenants),
`process_worker` (a worker seen from outside), `protocol` (messages), `frames` (their bytes), `connection` (the socket),
`zygote` (forks workers), `worker_process` (a worker's life), `server` (answers requests in it), `warm_decoders` (decoders made
before a fork), `jail` (what is taken from a worker).
"""
