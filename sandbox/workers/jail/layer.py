"""One layer of the jail, as it was found or entered."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layer:
    """`detail` tells what it does here, or why it is missing."""

    name: str
    applied: bool
    detail: str
    required: bool = True
