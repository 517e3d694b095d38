"""Egress errors.

EgressError           its message is fit for the one who asked
├── EgressRefused     not allowed: the address, the port, the size, a redirect, the policy; trying again does not help (`code`)
└── EgressFailed      allowed, but it did not work: no such host, no connection, no valid answer, too late (`reason`)
"""

from __future__ import annotations


class EgressError(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class EgressRefused(EgressError):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class EgressFailed(EgressError):
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
