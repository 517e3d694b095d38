"""The registry: runtimes, hosts and workers, wherever they are, behind one set of shapes. In reading order:

wire        the shapes, as the contract spells them         ids         names of things: how they are made and checked
errors      what can be wrong with a question               runtimes    what a runtime is; what it says by default
registry    one tenant's view: lookup, lists, budgets       tenants     the registries of all tenants

embedded    workers that are sessions of this gateway: `spawning` makes them, `turns` runs their input, `books` remembers,
            `lanes` are who waits and who watches, `projections` and `words` are what is told
local       workers seen in a directory of pods
remote      workers of another gateway, asked through `clients`, listened for with `heartbeats`

leases      what the store remembers of runners             tickets     addresses under which a port may be looked at
"""
