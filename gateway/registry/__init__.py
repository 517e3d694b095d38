"""The registry: runtimes, hosts and workers, in every place they can be, behind one set of shapes.

In reading order: `wire` (the shapes, as the contract spells them), `identifiers` (how names are made and checked), `errors`,
`runtime` (what a runtime is, and its defaults), `profiles` (what a worker runs, where and within which limits), `registry` (one
tenant's view), `registries` (those of all tenants); `embedded` (workers that are sessions of this gateway) with `spawning`,
`inputs`, `worker_records`, `worker_queues` and `projections`; `local` (workers seen in a directory of pods); `remote` (workers of
another gateway).
"""
