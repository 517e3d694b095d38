"""The service around the sandbox: many tenants, over HTTP.

In reading order: `http` (the service as the network sees it), `service` (every part, constructed once), `lifecycle` (start,
stop, retention, metrics), `runs` (one program run and its calls), `sessions` (live, evicted, persisted, restored), `hooks`,
`files`, `policies` (policy in force), `capabilities` (what programs call), `runners` (places elsewhere), `registry` (runtimes,
hosts, workers), `tenants`, `audit`, `packages` (where wheels come from), `fleet` (several gateways on one store), `stores`
(what is remembered), `egress` (the one way out). The ground: `configuration`, `telemetry`, `log_stream`, `events`, `records`,
`pools`, `children`, `shielding`, `clock`, `ids`, `errors`, `codes`.
"""
