"""Wheels for tests, made of texts; and what an index would say of them."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence


def make_wheel(
    name: str,
    version: str = "1.0",
    files: Mapping[str, str | bytes] | None = None,
    *,
    needs: Sequence[str] = (),
    tag: str = "py3-none-any",
    extras: Sequence[str] = (),
    record: Mapping[str, str] | None = None,
    unlisted: Mapping[str, bytes] | None = None,
) -> tuple[str, bytes]:
    """A file name and an archive. `record` replaces hashes by path, `unlisted` are files that RECORD does not name."""
    info = f"{name}-{version}.dist-info"
    metadata = "".join(
        [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"]
        + [f"Provides-Extra: {extra}\n" for extra in extras]
        + [f"Requires-Dist: {need}\n" for need in needs]
    )
    contents = {path: data.encode() if isinstance(data, str) else data for path, data in (files or {}).items()}
    contents[f"{info}/METADATA"] = metadata.encode()
    contents[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()
    lines = [f"{path},{(record or {}).get(path) or digest(data)},{len(data)}\n" for path, data in contents.items()]
    contents[f"{info}/RECORD"] = "".join([*lines, f"{info}/RECORD,,\n"]).encode()
    return f"{name}-{version}-{tag}.whl", pack({**contents, **(unlisted or {})})


def digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def pack(contents: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in contents.items():
            archive.writestr(path, data)
    return packed.getvalue()


def write_page(wheels: Sequence[tuple[str, bytes]], **said: object) -> bytes:
    """A simple page in JSON. `said` is added to each file."""
    files = [
        {"filename": name, "url": f"../../files/{name}", "hashes": {"sha256": hashlib.sha256(data).hexdigest()}, **said}
        for name, data in wheels
    ]
    return json.dumps({"meta": {"api-version": "1.1"}, "name": "any", "files": files}).encode()
