"""The fence: of several gateways that share a store, only a tenant's owner writes to it, and only while it is the owner.

Rules: each claim of a tenant has an epoch of its own, one more than the last. A write names the epoch that the work behind it
began in, and the store refuses it, in the statement that locks the tenant, unless that epoch is still the tenant's.
THREAT[TM-FLEET-FENCE]: a gateway that was frozen, cut off or slow, and whose tenant another gateway has claimed meanwhile, writes
nothing any more, whatever it believes.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from gateway.errors import GatewayError


class NotOwner(GatewayError):
    """This gateway does not own the tenant, or not any more. Nothing was written."""

    status: ClassVar[int] = 503
    retry_after_ms = 1000

    def __init__(self, tenant: str) -> None:
        message = "another gateway does this tenant's work now; nothing was written"
        super().__init__("NOT_OWNER", message, "ask again: the request is passed on to that gateway")
        self.tenant = tenant


class Fence(Protocol):
    @property
    def gateway(self) -> str:
        """This gateway's id."""
        ...

    def find_epoch(self, tenant: str) -> int:
        """The epoch under which the current task may write to a tenant. Raises `NotOwner`."""
        ...

    def note_lost(self, tenant: str, epoch: int) -> None:
        """The store has refused a write of this epoch: it is over."""
        ...
