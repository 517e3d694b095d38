"""The service around the sandbox: tenants, sessions, hooks, approvals, stores, HTTP. Nothing of it is built yet."""
