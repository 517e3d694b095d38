"""What can be wrong with a question to the registry. Part of the tree of `gateway.errors`.

InvalidIdentifier 400      not an id at all; says which kind, and at most 120 characters of it
UnknownRuntime 404  UnknownHost 404  UnknownWorker 404      also for what is another tenant's
RuntimeTaken 409           two runtimes with one id
RuntimeBusy 409            it still has running workers
CapabilityUnsupported 501  the runtime cannot do this at all
OperationFailed 502        a runtime elsewhere did not do what it was asked; TimedOut 504
"""

from __future__ import annotations

from gateway.errors import BadRequest, Conflict, GatewayError, NotFound, Unsupported


class InvalidIdentifier(BadRequest):
    def __init__(self, kind: str, value: str) -> None:
        shown = "".join(c if c.isprintable() else "�" for c in value[:120])
        super().__init__("INVALID_IDENTIFIER", f"invalid {kind}: {shown}", "1 to 120 of A-Z a-z 0-9 _ : -")
        self.kind, self.value = kind, value[:120]


class UnknownRuntime(NotFound):
    def __init__(self, runtime_id: str) -> None:
        super().__init__("UNKNOWN_RUNTIME", f"unknown runtime: {runtime_id}")
        self.runtime_id = runtime_id


class UnknownHost(NotFound):
    def __init__(self, host_id: str) -> None:
        super().__init__("UNKNOWN_HOST", f"unknown host: {host_id}")
        self.host_id = host_id


class UnknownWorker(NotFound):
    def __init__(self, runtime_id: str, worker_id: str) -> None:
        super().__init__("UNKNOWN_WORKER", f"unknown worker: {worker_id} of runtime {runtime_id}")
        self.runtime_id, self.worker_id = runtime_id, worker_id


class RuntimeTaken(Conflict):
    def __init__(self, runtime_id: str) -> None:
        super().__init__("RUNTIME_EXISTS", f"there is a runtime {runtime_id} already")


class RuntimeBusy(Conflict):
    def __init__(self, runtime_id: str) -> None:
        super().__init__("RUNTIME_BUSY", f"the runtime {runtime_id} has running workers", "stop them first")


class CapabilityUnsupported(Unsupported):
    def __init__(self, runtime_id: str, capability: str) -> None:
        super().__init__("RUNTIME_CAPABILITY_UNSUPPORTED", f"the runtime {runtime_id} cannot {capability}")


class OperationFailed(GatewayError):
    status = 502


class TimedOut(OperationFailed):
    status = 504


def failed(code: str, message: str) -> OperationFailed:
    """A runtime's own diagnostic, as an error."""
    return (TimedOut if code.endswith("_timeout") else OperationFailed)(code, message)
