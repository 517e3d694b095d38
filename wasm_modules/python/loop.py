"""asyncio without sockets or threads."""

import asyncio
import time

from _hatchway.absent import no_processes


class Sleeper:
    """Stands where the event loop expects a selector: with no sockets, waiting for events is sleeping."""

    def select(self, timeout):
        if timeout is None:
            raise RuntimeError("nothing is left that could wake the event loop")
        if timeout > 0:
            time.sleep(timeout)
        return ()

    def close(self):
        pass


class Loop(asyncio.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = Sleeper()

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        pass

    def run_in_executor(self, executor, function, *args):
        """There are no threads: the call happens now."""
        future = self.create_future()
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    async def shutdown_default_executor(self, timeout=None):
        pass

    async def _make_subprocess_transport(self, *args, **kwargs):
        no_processes()


session_loop = None


def run_coroutine(coroutine):
    """Top-level await: one loop for the whole session, so that tasks go on in the next run."""
    global session_loop
    if session_loop is None or session_loop.is_closed():
        session_loop = Loop()
        asyncio.set_event_loop(session_loop)
    return session_loop.run_until_complete(coroutine)
