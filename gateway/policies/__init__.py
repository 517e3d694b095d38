"""Policy in force: which policy decides for a session, and what its decisions mean to the service.

In reading order: `gate` (a policy as one session meets it), `in_force` (which policy decides for whom, and how it is replaced),
`facts` (what policies may ask about a caller), `rates` (how often), `decision_log` (recent decisions), `deployments` (check,
explain, compare, put in force), `compiler` (a tenant's policy, compiled in a child process), `operator_policies` (the operator's
own), `pinned_defaults` (defaults that sessions keep).
"""
