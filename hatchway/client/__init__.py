"""The clients of a gateway, and what they know about its operations.

In reading order: `url_paths` (ids, names and files' paths in a URL), `requests` (a request and its answer, without sending),
`operations` (rows of `operations.json` and the requests made of them), `verb_names` (how people call operations), `derivation`
(writes `operations.json` from the gateway's own table), `tls` (which gateways are believed),
`run_requests` (what a run and a session are asked for with), `async_files` and `async_values` (of a session), `coming` (what is
awaited or entered), `async_live` (a command's terminal), `async_runner` (commands at runners, for asyncio), `async_client` (the
client for asyncio), `blocking` (coroutines without an event loop), `client` (the client without asyncio).
"""
