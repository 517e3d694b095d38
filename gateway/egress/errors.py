"""Egress errors.

EgressError           its message is fit for the one who asked
├── EgressRefused     not allowed: the address, the port, the size, a redirect, the policy; trying again does not help
└── EgressFailed      allowed, but it did not work: no such host, no connection, no valid answer, too late
"""

from __future__ import annotations


class EgressError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class EgressRefused(EgressError):
    pass


class EgressFailed(EgressError):
    pass
