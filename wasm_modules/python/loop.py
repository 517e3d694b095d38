"""asyncio without sockets or threads, which takes what a capability answered wherever it takes a coroutine."""

import asyncio
import functools
import time

from _hatchway.absent import no_network, no_processes
from _hatchway.capabilities import awaitable


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

    def create_task(self, coro, **kwargs):
        return super().create_task(awaitable(coro), **kwargs)

    def run_until_complete(self, future):
        return super().run_until_complete(awaitable(future))

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

    async def create_server(self, *args, **kwargs):
        no_network()

    create_connection = create_datagram_endpoint = create_unix_connection = create_unix_server = create_server


session_loop = None


def run_coroutine(coroutine):
    """Top-level await: one loop for the whole session, so that tasks go on in the next run."""
    global session_loop
    if session_loop is None or session_loop.is_closed():
        session_loop = Loop()
        asyncio.set_event_loop(session_loop)
    return session_loop.run_until_complete(coroutine)


def taking_answers(function, place=0):
    """The function, given an awaitable where a capability's answer stands in that place."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if len(args) > place:
            args = (*args[:place], awaitable(args[place]), *args[place + 1 :])
        return function(*args, **kwargs)

    return call


@functools.wraps(asyncio.gather)
def gather(*many, **kwargs):
    return gather.__wrapped__(*map(awaitable, many), **kwargs)


@functools.wraps(asyncio.as_completed)
def as_completed(many, **kwargs):
    return as_completed.__wrapped__(map(awaitable, many), **kwargs)


def install():
    asyncio.events.new_event_loop = asyncio.new_event_loop = Loop
    asyncio.gather = asyncio.tasks.gather = gather
    asyncio.as_completed = asyncio.tasks.as_completed = as_completed
    asyncio.ensure_future = asyncio.tasks.ensure_future = taking_answers(asyncio.ensure_future)
    asyncio.shield = asyncio.tasks.shield = taking_answers(asyncio.shield)
    asyncio.wait_for = asyncio.tasks.wait_for = taking_answers(asyncio.wait_for)
    asyncio.Runner.run = taking_answers(asyncio.Runner.run, 1)
