"""The service's settings: one typed record, read from a TOML file and then from the environment.

    configuration = load(Path("hatchway.toml"), os.environ)        # HATCHWAY_PORT=9000 wins over `port = 8080` in the file

Rules: every setting has a default that is safe on a developer's machine, a unit at the end of its name, and a sentence that says
what it does; docs/configuration.md is made from those sentences (`python -m gateway.configuration`). A name that is not known in
the file, or a value of the wrong type anywhere, is an error that names the place: a service with a misspelt limit does not start.
An unknown name in the environment gets a warning: it may belong to another program.
"""

from __future__ import annotations

import difflib
import ipaddress
import logging
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

PREFIX: Final = "HATCHWAY_"
_OTHERS: Final = ("URL", "TOKEN", "CA", "CERT", "MCP_TOKEN", "CACHE", "KEYS", "HISTORY", "MASTER_KEY", "CHROMIUM")
"""Variables that clients, the library and tests read."""
_OTHER_PREFIXES: Final = ("HOOK_", "FAULTS", "BENCH_", "TEST_")
_ADDRESS: Final = re.compile(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.\-]+):[0-9]{1,5}")
DATABASES: Final = ("postgresql://", "postgres://")
_log: Final = logging.getLogger("hatchway.configuration")
_DAY_MS: Final = 86_400_000


class ConfigurationError(Exception):
    """The settings cannot be used; the message says which and why, and `hint` what can be done."""

    def __init__(self, message: str, hint: str = "see docs/configuration.md") -> None:
        super().__init__(message)
        self.hint = hint


def _count(about: str, least: int = 1, most: int | None = None) -> Meta:
    return Meta(description=about, ge=least, le=most)


def _retain(about: str) -> Meta:
    return Meta(description=f"{about} 0: forever.", ge=0)


class Configuration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    host: Annotated[str, "The address to listen on. `0.0.0.0` is every IPv4 address of the machine."] = "127.0.0.1"
    port: Annotated[int, _count("The TCP port; 0 takes a free one and prints it.", 0, 65535)] = 8484
    data: Annotated[str, "The directory of the embedded store, created if it does not exist."] = "hatchway-data"
    database_url: Annotated[str, "A PostgreSQL URL (`postgresql://…`) to use instead of the embedded SQLite store."] = ""
    keys_file: Annotated[
        str, "The file with the keys that snapshots and secrets are sealed with; `keys` in the data directory if it is empty."
    ] = ""
    fleet: Annotated[bool, "Share the PostgreSQL store with other gateways: each owns some tenants (docs/fleet.md)."] = False
    fleet_key: Annotated[
        str, "A private file with the key that the gateways of a fleet share: their connections' certificates are made from it."
    ] = ""
    fleet_address: Annotated[
        str, "`ADDRESS:PORT` to listen on for the other gateways, as they reach it; port 0 takes a free one."
    ] = "127.0.0.1:0"
    fleet_lease_ms: Annotated[
        int, _count("How long a gateway of a fleet that is not heard of owns its tenants.", 2_000, 60_000)
    ] = 4_000
    policy: Annotated[
        str, "A `.hatch` file for tenants without a policy of their own; its hooks' programs lie in the same folder."
    ] = ""
    policy_base: Annotated[
        str, "A `.hatch` file, with its hooks' programs next to it, that tenants' policies provably narrow."
    ] = ""
    equipment: Annotated[
        str, "A TOML file with what programs can call: web endpoints and MCP servers (docs/capabilities.md)."
    ] = ""
    runners_folder: Annotated[str, "A folder for runners with real processes (`unix-local`, `docker`), one folder a tenant."] = ""
    runners_ssh_hosts: Annotated[tuple[str, ...], "Hosts that the `ssh` runner may reach."] = ()
    runners_docker_images: Annotated[tuple[str, ...], "Images that the `docker` runner may start."] = ()
    runners_disk_bytes: Annotated[
        int,
        _count(
            "Bytes that the files of a session of `unix-local` or `docker` may take, looked at while commands run. 0: any.", 0
        ),
    ] = 0
    runners_domains: Annotated[
        tuple[str, ...],
        "What commands of `unix-local` and `docker` may reach where their destination has a network and the policy permits "
        "`net.connect`: names, `*.example.com` for all below one, or `*`.",
    ] = ()
    registry_pods: Annotated[str, "A folder whose `TENANT/pods` are shown as the local runtime of the registry."] = ""
    worker_profiles: Annotated[
        str, "A TOML file with role profiles of workers, over those that are shipped (docs/registry.md)."
    ] = ""
    workers: Annotated[
        Literal["processes", "in-process"],
        "Where programs run: in jailed processes, one tenant each, or inside the gateway (development only).",
    ] = "processes"
    jail: Annotated[
        Literal["required", "best_effort"],
        "Whether workers refuse to start where a layer of their jail is not available (see `hatchway doctor`).",
    ] = "required"
    token_minting: Annotated[
        Literal["operators", "admins"],
        "Who makes tokens: operators for their own tenant, or admins only. With `admins` an operator has no "
        "second identity to approve their own calls with (docs/operations.md).",
    ] = "operators"
    run_slots: Annotated[
        int,
        _count("How many runs are under way at the same time before others wait; 0 is four times the number of cores.", 0, 4096),
    ] = 0

    durable_sessions: Annotated[
        Literal["on_request", "always"],
        "Whose variables survive a crash: those of sessions that ask for it, or all (a snapshot after each run).",
    ] = "on_request"
    sessions_live_max: Annotated[
        int, _count("Sessions in memory; one more evicts the one that was idle longest into the store.")
    ] = 500
    session_idle_ms: Annotated[int, _count("A session that is idle for this long is evicted into the store.", 100)] = 900_000
    runs_kept_ms: Annotated[int, _retain("How long records of runs that have ended are kept.")] = 30 * _DAY_MS
    audit_kept_ms: Annotated[int, _retain("How long audit records are kept; the chain stays verifiable.")] = 365 * _DAY_MS
    approvals_kept_ms: Annotated[int, _retain("How long approvals that were decided are kept; those for always stay.")] = (
        90 * _DAY_MS
    )
    idle_sessions_kept_ms: Annotated[
        int, _retain("A session that is not durable and was unused for this long is deleted, with its files.")
    ] = 0
    one_shots_kept_ms: Annotated[
        int,
        _retain("How long the session of a single run is kept if no caller waited for it, it was suspended or interrupted."),
    ] = _DAY_MS
    unlabelled_snapshots_kept_ms: Annotated[
        int, _retain("How long saved snapshots without a label are kept, if no session starts from them.")
    ] = 0
    loose_snapshots_kept_ms: Annotated[int, _retain("How long memory of sessions that nothing refers to is kept.")] = _DAY_MS
    ended_workers_kept_ms: Annotated[
        int, _retain("How long embedded workers of the registry that were stopped or cancelled are kept.")
    ] = 90 * _DAY_MS
    decisions_kept_ms: Annotated[
        int, _retain("How long decisions stay in memory, the last 2,000 of a tenant: a new policy is replayed on them.")
    ] = 7 * _DAY_MS

    tls_certificate: Annotated[str, "A PEM file with the certificate chain. With `tls_key`: serve HTTPS."] = ""
    tls_key: Annotated[str, "A PEM file with the private key."] = ""
    tls_client_ca: Annotated[str, "A PEM file of authorities; clients must present a certificate that one of them signed."] = ""

    connections_max: Annotated[
        int, _count("Open connections; one more takes an idle one's place, or only health is answered on it.")
    ] = 1024
    connections_per_address_max: Annotated[
        int, _count("Open connections of one address (IPv6: one /64) that is not in `proxies`; 0 is a quarter of all.", 0)
    ] = 0
    proxies: Annotated[
        tuple[str, ...], "Addresses and networks of reverse proxies: they speak for many clients, and no share holds for them."
    ] = ()
    requests_in_flight_max: Annotated[int, _count("Requests being answered, of all tenants; one more gets 503.")] = 1024
    requests_per_tenant_max: Annotated[int, _count("Requests being answered, of one tenant; one more gets 429.")] = 256
    streams_per_tenant_max: Annotated[int, _count("Open event streams and WebSockets of one tenant; one more gets 429.")] = 128
    url_bytes_max: Annotated[int, _count("A request's target, path and query together; more gets 414.", 64)] = 8192
    header_bytes_max: Annotated[int, _count("All of a request's headers; more gets 431.", 1024)] = 32768
    headers_max: Annotated[int, _count("How many headers a request may have; more gets 431.", 8)] = 100
    body_bytes_max: Annotated[int, _count("A request's body where the operation does not say less; more gets 413.", 1024)] = (
        16 << 20
    )
    body_bytes_per_tenant_max: Annotated[
        int, _count("The bodies of all requests that one tenant has under way, together; more gets 429.", 1024)
    ] = 256 << 20
    upload_bytes_max: Annotated[int, _count("The body of an upload: an archive, a snapshot.", 1024)] = 128 << 20
    json_depth_max: Annotated[int, _count("How deep arrays and objects of a JSON or CBOR body may be nested.", 4, 128)] = 64
    items_max: Annotated[int, _count("How many arrays, objects and (CBOR) values a body may hold.", 64)] = 200_000
    message_bytes_max: Annotated[int, _count("One message on a WebSocket.", 1024)] = 1 << 20

    header_deadline_ms: Annotated[
        int, _count("A connection without a whole request head for that long is closed; so are idle ones.", 10)
    ] = 15_000
    body_deadline_ms: Annotated[int, _count("The time for a body to arrive, from its first byte to its last; then 408.", 10)] = (
        30_000
    )
    upload_deadline_ms: Annotated[int, _count("The time for the body of an upload to arrive; then 408.", 10)] = 300_000
    request_deadline_ms: Annotated[
        int, _count("The time for an answer, where the operation does not say more; then 503.", 10)
    ] = 120_000
    write_deadline_ms: Annotated[int, _count("How long a client may leave sent data unread.", 10)] = 20_000
    heartbeat_ms: Annotated[int, _count("A stream without events sends a heartbeat this often.", 10)] = 15_000
    drain_deadline_ms: Annotated[
        int, _count("At shutdown, the time for runs to finish; what still runs then is interrupted. Sessions are persisted.", 0)
    ] = 10_000

    http2: Annotated[bool, "Speak HTTP/2 too: by ALPN over TLS, by prior knowledge without."] = True
    streams_per_connection_max: Annotated[int, _count("Requests at the same time on one HTTP/2 connection.")] = 64
    resets_per_connection_max: Annotated[
        int, _count("Streams an HTTP/2 client may reset in ten seconds; one more closes its connection.")
    ] = 100
    cors_origins: Annotated[tuple[str, ...], "Origins of web pages that may call the API from a browser. None by default."] = ()

    token_cache_ms: Annotated[
        int,
        _count("How long a token is believed before the store is asked again; bounds a revocation made elsewhere.", 0, 60_000),
    ] = 2_000
    idempotency_ms: Annotated[int, _count("How long the answer to a POST with an Idempotency-Key is kept.", 1000)] = _DAY_MS

    access_log: Annotated[bool, "Write one JSON line for each request to standard error."] = True
    log_level: Annotated[Literal["debug", "info", "warning", "error"], "The least severe log line."] = "info"
    metrics: Annotated[
        Literal["operator", "admin", "loopback", "open", "off"],
        "Who may read `/metrics`: tokens of operators and admins, of admins only, callers on this machine that "
        "come through no proxy, every caller, or no caller.",
    ] = "operator"
    tracing: Annotated[
        Literal["off", "console", "otlp"],
        "OpenTelemetry spans: none, printed, or sent as the OTEL_EXPORTER_OTLP_* variables say.",
    ] = "off"


def load(file: Path | None, environment: Mapping[str, str], **given: Any) -> Configuration:
    """The file, then the environment, then what the command line gave (None means not given); the later wins."""
    values: dict[str, Any] = _read(file) if file is not None else {}
    hints = get_type_hints(Configuration, include_extras=False)
    for unknown in list_unknown_names(environment):
        _log.warning("%s", unknown)
    for name, kind in hints.items():
        text = environment.get(PREFIX + name.upper())
        if text is not None:
            values[name] = _from_text(kind, text)
    values.update({name: value for name, value in given.items() if value is not None})
    try:
        made = msgspec.convert(values, Configuration, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"a setting is wrong: {_explain(error, values, hints)}") from None
    if made.database_url and not made.database_url.startswith(DATABASES):
        # Not what was given: a URL may hold a password.
        raise ConfigurationError(f"database_url begins with {' or '.join(DATABASES)}; for the embedded store, set data")
    for proxy in made.proxies:
        try:
            ipaddress.ip_network(proxy, strict=False)
        except ValueError:
            raise ConfigurationError(f"proxies: {proxy[:80]!r} is neither an address nor a network") from None
    if bool(made.tls_certificate) != bool(made.tls_key):
        raise ConfigurationError("tls_certificate and tls_key belong together: one of them is missing")
    if made.fleet and not (made.database_url and made.fleet_key and made.keys_file):
        raise ConfigurationError(
            "gateways of a fleet share a PostgreSQL store (database_url), a key (fleet_key) and the keys of what is sealed "
            "(keys_file): one of them is missing",
            "see docs/fleet.md",
        )
    if made.fleet and not _ADDRESS.fullmatch(made.fleet_address):
        raise ConfigurationError(f"fleet_address is ADDRESS:PORT, and not {made.fleet_address[:80]!r}", "see docs/fleet.md")
    if made.tls_client_ca and not made.tls_key:
        raise ConfigurationError("tls_client_ca needs tls_certificate and tls_key")
    return made


def list_unknown_names(environment: Mapping[str, str]) -> list[str]:
    """What to say about variables that look like settings and are none."""
    known = [name.upper() for name in Configuration.__struct_fields__]
    said = []
    for name in sorted(environment):
        rest = name.removeprefix(PREFIX)
        if rest == name or rest in (*known, *_OTHERS) or rest.startswith(_OTHER_PREFIXES):
            continue
        near = difflib.get_close_matches(rest, known, 1)
        said.append(f"{name} is not a setting and is ignored" + (f"; did you mean {PREFIX}{near[0]}?" if near else ""))
    return said


def _explain(error: msgspec.ValidationError, values: Mapping[str, Any], hints: Mapping[str, Any]) -> str:
    """msgspec names the place, and not what could stand there."""
    for name, kind in hints.items():
        if get_origin(kind) is Literal and str(error).endswith(f"`$.{name}`"):
            return f"{name} is one of {', '.join(get_args(kind))}, and not {str(values[name])[:80]!r}"
    return str(error)


def _read(file: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError(f"cannot read {file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file} is not TOML: {error}") from None
    known = Configuration.__struct_fields__
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise ConfigurationError(f"{file}: there is no setting {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    return values


def _from_text(kind: Any, text: str) -> Any:
    """What an environment variable means: lists are separated by commas; the rest is converted by type."""
    if get_origin(kind) is tuple:
        return [part.strip() for part in text.split(",") if part.strip()]
    return text.strip().lower() if kind is bool else text


def reference() -> str:
    """docs/configuration.md."""
    lines = [
        "# Configuration",
        "",
        "Settings come from a TOML file (`hatchway serve --config hatchway.toml`), then from the environment, then from the",
        "command line; the later wins. A name in the file is the name below; in the environment it is written in capitals after",
        "`HATCHWAY_`: `port = 9000` is `HATCHWAY_PORT=9000`. Lists are separated by commas there. A name that is not known is an",
        "error in the file and a warning in the environment. This page is made from `gateway/configuration.py`.",
        "",
        "| setting | type | default | what it does |",
        "|---|---|---|---|",
    ]
    hints = get_type_hints(Configuration, include_extras=True)
    defaults = Configuration()
    for name in Configuration.__struct_fields__:
        kind, *notes = get_args(hints[name])
        about = notes[0].description if isinstance(notes[0], Meta) else notes[0]
        default = msgspec.json.encode(getattr(defaults, name)).decode()
        lines.append(f"| `{name}` | {_describe(kind, notes)} | `{default}` | {about} |")
    return "\n".join(lines) + "\n"


def _describe(kind: Any, notes: list[Any]) -> str:
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind))
    if get_origin(kind) is tuple:
        return "list of texts"
    if kind is not int:
        return {str: "text", bool: "true or false"}[kind]
    meta = next(note for note in notes if isinstance(note, Meta))
    return f"number {meta.ge}–{meta.le}" if meta.le is not None else f"number from {meta.ge}"


if __name__ == "__main__":
    print(reference(), end="")
