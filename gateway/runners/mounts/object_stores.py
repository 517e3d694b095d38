"""Object stores behind mounts: S3-compatible buckets, and folders of the operator.

Rules: the S3 store signs its requests (SigV4, botocore's signer) and sends them through a port, so the gateway's guarded client
decides which hosts can be reached. Answers are capped. The key pair comes from the vault for each use and is in no error.
Keys become relative paths; a key that would leave its mount is refused, not renamed.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qs, quote, urlsplit
from xml.etree import ElementTree

import msgspec

from gateway.egress import Egress, EgressError
from gateway.egress.client import Response
from gateway.runners import beneath
from gateway.runners.errors import invalid, too_large, unavailable
from gateway.runners.secret_refs import SecretResolver
from gateway.runners.wire import MAX_FILE_BYTES, MountIntent

BUCKETS = ("s3", "r2")
"""Kinds of mounts that are buckets behind the S3 protocol. Cloudflare's has an endpoint for each account, and one region."""
MAX_OBJECTS = 1_000
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_PAGE_BYTES = 4 << 20
_TIMEOUT_MS = 30_000


class ObjectStore(Protocol):
    is_near: bool
    """It costs little to look whether something has changed."""

    def list(self) -> AsyncIterator[tuple[str, str]]:
        """Keys and versions: another one after every change."""
        ...

    async def get(self, key: str) -> bytes: ...

    async def put(self, key: str, contents: bytes) -> str:
        """The version it has now."""
        ...

    async def delete(self, key: str) -> None: ...


class KeyPair(msgspec.Struct, frozen=True):
    """What the secret of an S3 mount holds, as JSON."""

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None


def check_key(key: str) -> str:
    if (
        not key
        or key.startswith("/")
        or "\0" in key
        or any(part in ("", ".", "..") for part in key.split("/"))
        or len(key) > 1024
    ):
        raise unavailable("the store has an object whose key is no path below a mount")
    return key


class S3Store:
    """`s3://bucket/prefix?endpoint=https://…&region=…`; without an endpoint it is Amazon's. `r2://` needs one."""

    is_near = False

    def __init__(self, intent: MountIntent, http: Egress, secrets: SecretResolver) -> None:
        self.bucket, self.prefix, self.endpoint, self.region = parse_uri(intent.uri, intent.kind)
        self._http, self._secrets = http, secrets
        if intent.credentials is None:
            raise invalid("an s3 mount names its credentials by reference")
        self._credentials = intent.credentials

    async def _pair(self) -> KeyPair:
        try:
            return msgspec.json.decode(await self._secrets.resolve(self._credentials), type=KeyPair)
        except msgspec.DecodeError:
            raise unavailable("the secret of an s3 mount must hold access_key_id and secret_access_key as JSON") from None

    async def _send(self, method: str, key: str, query: str, body: bytes, most_bytes: int) -> Response:
        from botocore.auth import S3SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials

        pair = await self._pair()
        url = f"{self.endpoint}/{self.bucket}" + (f"/{quote(key, safe='/~')}" if key else "") + (f"?{query}" if query else "")
        request = AWSRequest(method=method, url=url, data=body)
        S3SigV4Auth(Credentials(pair.access_key_id, pair.secret_access_key, pair.session_token), "s3", self.region).add_auth(
            request
        )
        headers = {str(name): str(value) for name, value in request.headers.items()}
        try:
            answer = await self._http.request(
                method,
                url,
                headers=headers,
                body=body or None,
                timeout_ms=_TIMEOUT_MS,
                max_response_bytes=most_bytes,
                max_request_bytes=MAX_FILE_BYTES,
            )
        except EgressError as failed:
            raise unavailable(f"the object store cannot be reached ({type(failed).__name__})") from None
        if answer.status >= 400 and answer.status != 404:
            raise unavailable(f"the object store answered {answer.status}", "check the mount's uri and credentials")
        return answer

    async def list(self) -> AsyncIterator[tuple[str, str]]:
        after, seen = "", 0
        while True:
            query = "list-type=2&max-keys=1000" + (f"&prefix={quote(self.prefix, safe='')}" if self.prefix else "")
            query = (f"continuation-token={quote(after, safe='')}&" if after else "") + query
            answer = await self._send("GET", "", query, b"", _PAGE_BYTES)
            if answer.status == 404:
                raise unavailable("the bucket of an s3 mount does not exist")
            page = _parse(answer.body)
            for key, version in _read_objects(page):
                seen += 1
                if seen > MAX_OBJECTS:
                    raise invalid(f"an s3 mount holds at most {MAX_OBJECTS} objects", "mount a longer prefix")
                yield check_key(key[len(self.prefix) :]), version
            after = next((found.text or "" for found in page.iter() if _tag(found) == "NextContinuationToken"), "")
            if not after:
                return

    async def get(self, key: str) -> bytes:
        answer = await self._send("GET", self.prefix + key, "", b"", MAX_FILE_BYTES)
        if answer.status == 404:
            raise unavailable("an object disappeared while it was mounted")
        return answer.body

    async def put(self, key: str, contents: bytes) -> str:
        answer = await self._send("PUT", self.prefix + check_key(key), "", contents, _PAGE_BYTES)
        if answer.status == 404:
            raise unavailable("the bucket of an s3 mount does not exist")
        return _strip_etag(answer.header("etag"))

    async def delete(self, key: str) -> None:
        await self._send("DELETE", self.prefix + check_key(key), "", b"", _PAGE_BYTES)


def parse_uri(uri: str, kind: str = "s3") -> tuple[str, str, str, str]:
    """Bucket, prefix (ending in `/` or empty), endpoint, region."""
    try:
        parts = urlsplit(uri)
        options = parse_qs(parts.query, strict_parsing=bool(parts.query))
        region = options.pop("region", ["us-east-1" if kind == "s3" else "auto"])[0]
        endpoint = options.pop("endpoint", [f"https://s3.{region}.amazonaws.com" if kind == "s3" else ""])[0].rstrip("/")
        if (
            parts.scheme != kind
            or not _BUCKET.fullmatch(parts.netloc)
            or ".." in f"{parts.netloc}/{parts.path}"
            or options
            or urlsplit(endpoint).scheme not in ("http", "https")
            or "@" in endpoint
        ):
            raise ValueError
        if not region.replace("-", "").isalnum():
            raise ValueError
    except ValueError:
        raise invalid(f"the uri of an {kind} mount is {kind}://bucket/prefix?endpoint=https://…&region=…") from None
    prefix = parts.path.strip("/")
    return parts.netloc, prefix + "/" if prefix else "", endpoint, region


def _parse(body: bytes) -> ElementTree.Element:
    # THREAT[TM-RUN-STORE]: a store's answer is not trusted: no document types, so no entities that expand.
    if b"<!" in body:
        raise unavailable("the object store gave an answer that is not a listing")
    try:
        return ElementTree.fromstring(body)
    except ElementTree.ParseError:
        raise unavailable("the object store gave an answer that is not a listing") from None


def _read_objects(page: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """Keys with their ETags, which tell one version from another. A key that ends in a slash is a folder of some console."""
    for found in page.iter():
        if _tag(found) == "Contents":
            fields = {_tag(field): field.text or "" for field in found}
            if fields.get("Key") and not fields["Key"].endswith("/"):
                yield fields["Key"], _strip_etag(fields.get("ETag"))


def _strip_etag(etag: str | None) -> str:
    return (etag or "").strip('"')[:200]


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


class FolderStore:
    """A folder of the operator as a store: what `provider_native` means where a provider has no storage of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._root = beneath.open_root(str(folder))

    def __del__(self) -> None:
        os.close(self._root)

    is_near = True

    def _list(self) -> list[tuple[str, str]]:
        return [(key, self._version(key)) for key in beneath.files(self._root)]

    def _version(self, key: str) -> str:
        found = beneath.resolve(self._root, key)
        known = os.fstat(found)
        os.close(found)
        return f"{known.st_ino}-{known.st_mtime_ns}-{known.st_size}"

    async def list(self) -> AsyncIterator[tuple[str, str]]:
        try:
            listed = await asyncio.to_thread(self._list)
        except beneath.Refused:
            raise unavailable("a volume cannot be read") from None
        for key, version in listed:
            yield key, version

    async def get(self, key: str) -> bytes:
        try:
            return await asyncio.to_thread(beneath.read, self._root, key, MAX_FILE_BYTES)
        except beneath.Refused:
            raise unavailable("a file of a volume cannot be read") from None

    async def put(self, key: str, contents: bytes) -> str:
        if len(contents) > MAX_FILE_BYTES:
            raise too_large("a file of a mount", MAX_FILE_BYTES)
        try:
            await asyncio.to_thread(beneath.write, self._root, check_key(key), contents)
            return self._version(key)
        except beneath.Refused:
            raise unavailable("a file of a volume cannot be written") from None

    async def delete(self, key: str) -> None:
        try:
            await asyncio.to_thread(beneath.delete, self._root, check_key(key))
        except beneath.Refused as refused:
            if refused.kind != "missing":
                raise unavailable("a file of a volume cannot be deleted") from None
