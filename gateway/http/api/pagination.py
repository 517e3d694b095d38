"""Pages: lists are answered in bounded pieces. `cursor` is the `next` of the page before, which is null at the end.

Rules: a cursor is opaque. It carries a short checksum, so that a text that is not a cursor is refused before a store sees it. It
is no secret and no permission: every page asks for the tenant again.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Awaitable, Callable
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta

from gateway.errors import BadRequest
from gateway.http.api.operation import Call
from gateway.stores.stored import Page as Page
from gateway.stores.stored import Window

LIMIT_MAX: Final = 200
_CURSOR_MAX: Final = 1024
T = TypeVar("T")


class PageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """How a list is asked for. Operations with more parameters inherit from it."""

    limit: Annotated[int, Meta(ge=1, le=LIMIT_MAX, description="The most items in a page.")] = 50
    cursor: Annotated[str | None, Meta(description="The `next` of the page before.")] = None

    @property
    def window(self) -> Window:
        """Which part of a list a store is asked for."""
        return {"after": None if self.cursor is None else open_cursor(self.cursor), "limit": self.limit}


def paginate(read: Callable[[Call], Awaitable[Page[T]]]) -> Callable[[Call], Awaitable[Page[T]]]:
    """The handler of a list, from what reads a page of a store."""

    async def answer(call: Call) -> Page[T]:
        page = await read(call)
        return Page(page.items, make_cursor(page.next))

    return answer


def make_cursor(position: str | None) -> str | None:
    if position is None:
        return None
    raw = position.encode()
    return base64.urlsafe_b64encode(zlib.crc32(raw).to_bytes(4, "big") + raw).rstrip(b"=").decode()


def open_cursor(text: str) -> str:
    try:
        if len(text) > _CURSOR_MAX:
            raise ValueError
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        if zlib.crc32(raw[4:]).to_bytes(4, "big") != raw[:4]:
            raise ValueError
        return raw[4:].decode()
    except (ValueError, binascii.Error):
        raise BadRequest("INVALID_CURSOR", "the cursor is not one of ours", "take `next` of the page before") from None
