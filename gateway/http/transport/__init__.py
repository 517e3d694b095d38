"""Bytes on the wire: Hypercorn, h11 and h2, made strict by subclasses. Ours, because all three are more lenient than a service
behind proxies may be, and Starlette begins above them.

In reading order: `server` (sockets, TLS, the orderly end), `shares` (which connections there may be), `connections` (one
connection, its deadlines and tasks), `http1`, `http2` (where a message begins and ends).

To bump h11, h2 or Hypercorn, run tests/gateway/http/transport/test_http1.py, test_raw_http2.py and test_server.py, and look
at what is relied on and not public:
- h11: `Connection._receive_buffer` and `_request_method`; `_receivebuffer.ReceiveBuffer` with `_data`, `_extract`,
  `_multiple_lines_search`; `_headers.Headers` made of triples; `_util.LocalProtocolError`.
- Hypercorn: `H11Protocol._check_protocol`, `_create_stream`, `_handle_events`, `_send_error_response`, `_send_h11_event`;
  `H2Protocol._handle_events`, `_close_stream`, `_flush`, `_send_data`; `StreamBuffer._complete`; `WSStream._send_wsproto_event`,
  `_send_error_response`, `buffer`, `app_put`; `TaskGroup._task_group`; `TCPServer`'s attributes.
- h2: nothing private, but `Connection.local_settings` is replaced before the preface.
"""
