"""Workers: a tenant's sessions, on threads of this process or in a jailed process.

In reading order: `interface` (the verbs), `local` (sessions on threads), `process_pool` (processes for tenants),
`process_worker` (a worker seen from outside), `protocol` (messages), `frames` (their bytes), `zygote` (forks workers), `server`
(answers requests in one), `warm_decoders` (decoders made before a fork), `jail` (what is taken from a worker).
"""
