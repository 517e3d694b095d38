"""The service around the sandbox: tenants, sessions, hooks, approvals, stores, runners, a registry, HTTP."""
