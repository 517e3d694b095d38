"""Mounts of an S3 bucket: a real S3 server (moto) on a free port, signed requests, real sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gateway.egress.client import Egress, Response
from gateway.errors import BadRequest, Forbidden, GatewayError, Unavailable
from gateway.runners.interface import Provider
from gateway.runners.mounts.object_stores import BUCKETS, S3Store, parse_uri
from gateway.runners.providers.unix_local import UnixLocal
from gateway.runners.providers.wasm import Wasm
from gateway.runners.wire import Destination, Manifest, Mount, MountIntent, SecretRef
from tests.gateway.runners.places import Vault, go, read, run, write

PAIR = {"access_key_id": "AKTEST", "secret_access_key": "hunter2-hunter2"}


class Answer(msgspec.Struct):
    status: int
    body: bytes

    def header(self, name: str) -> None: ...


class Recording(Egress):
    """The gateway's own guarded client, which notes what it is asked to send."""

    def __init__(self, endpoint: str) -> None:
        place = endpoint.removeprefix("http://")
        super().__init__(ports=(int(place.rpartition(":")[2]),), allow_private=[place])
        self.sent: list[tuple[str, str, dict[str, str]]] = []

    async def request(self, method: str, url: str, **options: Any) -> Response:
        self.sent.append((method, url, dict(options["headers"])))
        return await super().request(method, url, **options)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def http(endpoint: str) -> Recording:
    return Recording(endpoint)


def store_of(endpoint: str, http: Recording, where: str = "bucket/in") -> S3Store:
    intent = MountIntent(kind="s3", uri=f"s3://{where}?endpoint={endpoint}", credentials=SecretRef("s3"))
    return S3Store(intent, http, Vault(s3=msgspec.json.encode(PAIR)))


async def keys(store: S3Store) -> list[str]:
    return [key async for key, _ in store.list()]


def destination(provider_id: str, endpoint: str, where: str, read_only: bool, kind: str = "s3") -> Destination:
    intent = MountIntent(kind=kind, uri=f"{kind}://{where}?endpoint={endpoint}", credentials=SecretRef("s3"))
    mount = Mount(name="data", path="data", read_only=read_only, intent=intent)
    return Destination(id="d", provider_id=provider_id, default_manifest=Manifest(mounts=[mount]))


Make = Callable[[Recording, Path], Provider]
VAULT = Vault(s3=msgspec.json.encode(PAIR), bad=b"{}")
PROVIDERS: dict[str, Make] = {
    "wasm": lambda http, base: Wasm(http=http, secrets=VAULT),
    "unix-local": lambda http, base: UnixLocal(base, http=http, secrets=VAULT),
}


async def bucket(endpoint: str, http: Recording, name: str, **objects: bytes) -> None:
    await store_of(endpoint, http, name)._send("PUT", "", "", b"", 1 << 20)
    for key, contents in objects.items():
        await store_of(endpoint, http, f"{name}/in").put(key.replace("__", "/"), contents)


@pytest.mark.parametrize("kind", BUCKETS)
@pytest.mark.parametrize("name", PROVIDERS)
def test_a_writable_mount_is_filled_and_written_back(
    name: str, kind: str, endpoint: str, http: Recording, tmp_path: Path
) -> None:
    async def main() -> None:
        where = f"writable-{name}-{kind}"
        await bucket(endpoint, http, where, a=b"one", sub__b=b"two", gone=b"x")
        provider = PROVIDERS[name](http, tmp_path)
        session = await provider.create(destination(name, endpoint, f"{where}/in", False, kind))
        assert (await run(session, "sh", "-c", "cat data/a data/sub/b")).stdout == "onetwo"
        await run(session, "sh", "-c", "printf made > data/sub/made; printf ONE > data/a; rm data/gone")
        await write(session, "data/ü +&?.txt", b"odd")
        await write(session, "data/big", b"b" * (3 << 20))
        store = store_of(endpoint, http, f"{where}/in")
        assert sorted(await keys(store)) == ["a", "big", "sub/b", "sub/made", "ü +&?.txt"]
        assert [await store.get(key) for key in ("a", "sub/made", "ü +&?.txt")] == [b"ONE", b"made", b"odd"]
        await provider.close()

    go(main())


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_read_only_mount_can_be_read_and_nothing_else(name: str, endpoint: str, http: Recording, tmp_path: Path) -> None:
    async def main() -> None:
        where = f"readonly-{name}"
        await bucket(endpoint, http, where, a=b"one")
        provider = PROVIDERS[name](http, tmp_path)
        session = await provider.create(destination(name, endpoint, f"{where}/in", True))
        assert await read(session, "data/a") == b"one"
        assert (await run(session, "sh", "-c", "cat data/a; chmod 777 data/a; echo no > data/a")).stdout == "one"
        for path in ("data/a", "data/new", "other/../data/deep/new", "/workspace/data/new"):
            if name == "wasm" or not path.startswith("/"):
                with pytest.raises(Forbidden, match=r"^path .* is read-only$"):
                    await write(session, path, b"no")
        assert await read(session, "data/a") == b"one"
        await provider.close()
        assert await store_of(endpoint, http, f"{where}/in").get("a") == b"one"

    go(main())


def test_requests_are_signed_and_the_secret_is_in_none_of_them(endpoint: str, http: Recording) -> None:
    async def main() -> None:
        await bucket(endpoint, http, "signed", a=b"1")
        for _, target, headers in http.sent:
            assert headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKTEST/")
            assert PAIR["secret_access_key"] not in str(headers) + target

    go(main())


def test_a_listing_goes_on_over_pages(endpoint: str, http: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        await bucket(endpoint, http, "pages", **{f"k{n}": b"" for n in range(5)})
        store = store_of(endpoint, http, "pages/in")
        plain = store._send

        async def small_pages(method: str, key: str, query: str, body: bytes, most: int) -> Response:
            return await plain(method, key, query.replace("max-keys=1000", "max-keys=2"), body, most)

        monkeypatch.setattr(store, "_send", small_pages)
        assert await keys(store) == [f"k{n}" for n in range(5)]
        assert sum("continuation-token" in target for _, target, _ in http.sent) == 2

    go(main())


def test_faults_of_a_store_are_refusals_that_tell_nothing(endpoint: str, http: Recording, tmp_path: Path) -> None:
    async def main() -> None:
        provider = PROVIDERS["wasm"](http, tmp_path)
        with pytest.raises(Unavailable, match="does not exist"):
            await provider.create(destination("wasm", endpoint, "no-such-bucket", False))
        bad = MountIntent(kind="s3", uri=f"s3://b?endpoint={endpoint}", credentials=SecretRef("bad"))
        for intent in (
            bad,
            MountIntent(kind="s3", uri="s3://b"),
            MountIntent(kind="s3", uri="http://b", credentials=SecretRef("s3")),
        ):
            manifest = Manifest(mounts=[Mount(name="m", path="m", intent=intent)])
            with pytest.raises(GatewayError) as raised:
                await provider.create(Destination(id="d", provider_id="wasm", default_manifest=manifest))
            assert PAIR["secret_access_key"] not in str(raised.value) and endpoint not in str(raised.value)
        await provider.close()

    go(main())


class Hostile:
    """A store that lies."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    async def request(self, method: str, url: str, **_: object) -> Answer:
        return Answer(200, self.body)


@pytest.mark.parametrize(
    "body",
    [
        b"<x><Contents><Key>../../etc/cron.d/evil</Key></Contents></x>",
        b"<x><Contents><Key>/etc/passwd</Key></Contents></x>",
        b"<x><Contents><Key>a//b</Key></Contents></x>",
        b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><x><Contents><Key>&b;</Key></Contents></x>',
        b"not xml",
        b"<x>" + b"<Contents><Key>k</Key></Contents>" * 1001 + b"</x>",
    ],
)
def test_tm_run_store_a_listing_that_would_lead_out_or_grow_is_refused(body: bytes) -> None:
    intent = MountIntent(kind="s3", uri="s3://b?endpoint=http://x", credentials=SecretRef("s3"))
    store = S3Store(intent, Hostile(body), VAULT)
    with pytest.raises(GatewayError):
        go(keys(store))


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "s3://",
        "s3:bucket",
        "s3://k:v@b",
        "s3://../x",
        "s3://b/../c",
        "s3://b c",
        "s3://b?endpoint=ftp://x",
        "s3://b?other=1",
        "s3://b?region=a/b",
    ],
)
def test_a_uri_that_is_none_is_refused(uri: str) -> None:
    with pytest.raises(BadRequest):
        parse_uri(uri)


def test_a_bucket_of_r2_has_an_endpoint_of_its_own_and_one_region() -> None:
    assert parse_uri("r2://b/in?endpoint=https://account.example", "r2") == ("b", "in/", "https://account.example", "auto")
    for uri in ("r2://b/in", "s3://b?endpoint=https://account.example"):
        with pytest.raises(BadRequest, match="r2://bucket"):
            parse_uri(uri, "r2")


def test_a_mount_that_could_never_be_served_or_holds_a_password_is_refused_when_it_is_named() -> None:
    provider = Wasm(http=Egress(), secrets=VAULT)
    good = destination("wasm", "http://x", "bucket", False).default_manifest.mounts[0].intent
    for bad in (
        msgspec.structs.replace(good, uri="s3://key:hunter2@bucket/x"),
        msgspec.structs.replace(good, uri="s3://bucket?endpoint=https://u:hunter2@x"),
        msgspec.structs.replace(good, uri="https://bucket"),
        msgspec.structs.replace(good, credentials=None),
    ):
        mount = Mount(name="data", path="data", intent=bad)
        with pytest.raises(BadRequest) as raised:
            provider.validate_destination(Destination(id="d", provider_id="wasm", default_manifest=Manifest(mounts=[mount])))
        assert "hunter2" not in str(raised.value)


def test_without_a_client_for_it_s3_is_refused_by_its_name() -> None:
    async def main() -> None:
        with pytest.raises(GatewayError, match=r"^mount kind s3 is not supported by provider wasm$"):
            await Wasm().create(destination("wasm", "http://x", "b", False))

    go(main())


def test_volumes_of_wasm_sessions_outlive_them(tmp_path: Path) -> None:
    async def main() -> None:
        place = Destination(id="d", provider_id="wasm", default_manifest=Manifest(mounts=[Mount(name="v", path="v")]))
        provider = Wasm(volumes=tmp_path)
        first = await provider.create(place)
        await run(first, "sh", "-c", "mkdir v/deep; echo kept > v/deep/x")
        await first.close()
        second = await provider.create(place)
        assert await read(second, "v/deep/x") == b"kept\n"
        await provider.close()

    go(main())
