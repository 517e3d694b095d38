"""Threads and processes of `threading`, `concurrent.futures` and `multiprocessing`, without either.

A thread that was started runs when the program waits for something: for the thread itself, a lock, a queue, an event; or at the
program's end. It runs to its end then, on top of what waits, unless it waits itself. That is one of the orders in which threads
may run anywhere. What nothing can end any more is an error, and the end of a daemon. Executors and pools call at once. Who puts
something into a full queue cannot wait for one beneath it, so that the queue takes more than its bound.
"""

import _thread
import _threading_local
import collections
import concurrent.futures
import itertools
import multiprocessing
import multiprocessing.pool
import queue
import threading
import time

from _hatchway.surroundings import hide_frame

FOR_EVER = "this would wait for ever: no other thread is left that could end it"
THREADS = "threads take turns here: one that was started runs when the program waits for it, or ends; see LIMITATIONS.md"

SURPLUS_MAX = 100_000
"""A producer that never ends is an error."""
MAIN = threading.get_ident()
numbers, process_numbers = itertools.count(1), itertools.count(1)
waiting = collections.deque()
"""Threads that were started and have not run."""
running = []
"""Those that run, each on top of the one before it."""


class EndOfDaemon(BaseException):
    """Ends a daemon that waits for what will not come."""


def give_up():
    if running and running[-1].daemon:
        raise EndOfDaemon
    raise RuntimeError(FOR_EVER)


def run_waiting():
    """Runs all threads that were started."""
    while waiting:
        run_thread(waiting.popleft())


def run_thread(thread):
    del threading._limbo[thread]
    threading._active[thread._ident] = thread
    running.append(thread)
    try:
        thread._context.run(thread.run)
    except (SystemExit, EndOfDaemon):
        pass
    except Exception:
        thread._invoke_excepthook(thread)
    finally:
        running.pop()
        del threading._active[thread._ident]


def end_program():
    """A program ends when its threads have; daemons go on when one waits again."""
    daemons = [thread for thread in waiting if thread.daemon]
    while waiting:
        thread = waiting.popleft()
        if not thread.daemon:
            run_thread(thread)
    waiting.extend(daemons)


def start(self):
    if not self._initialized:
        raise RuntimeError("thread.__init__() not called")
    if self._started.is_set():
        raise RuntimeError("threads can only be started once")
    if self._context is None:
        self._context = threading._contextvars.copy_context()
    self._ident = self._native_id = MAIN + next(numbers)
    self._started.set()
    threading._limbo[self] = self
    waiting.append(self)


def get_ident():
    return running[-1]._ident if running else MAIN


def is_alive(self):
    return self in waiting or self in running or self is threading._main_thread


def join(self, timeout=None):
    if not self._initialized:
        raise RuntimeError("Thread.__init__() not called")
    if not self._started.is_set():
        raise RuntimeError("cannot join thread before it is started")
    if running and running[-1] is self:
        raise RuntimeError("cannot join current thread")
    while self in waiting:
        run_thread(waiting.popleft())
    if self in running and timeout is None:
        give_up()


class Lock:
    """`threading.Lock` where threads take turns: who finds it held lets those run that wait. If it is held then, it stays so."""

    __slots__ = ("__weakref__", "_is_held")
    __module__ = "_thread"

    def __init__(self):
        self._is_held = False

    def acquire(self, blocking=True, timeout=-1):
        if timeout != -1:
            if not blocking:
                raise ValueError("can't specify a timeout for a non-blocking call")
            if timeout < 0:
                raise ValueError("timeout value must be a non-negative number")
            if timeout > threading.TIMEOUT_MAX:
                raise OverflowError("timeout value is too large")
        if not self._is_held:
            self._is_held = True
            return True
        if not blocking:
            return False
        run_waiting()
        if self._is_held:
            if timeout == -1:
                give_up()
            time.sleep(timeout)
            return False
        self._is_held = True
        return True

    def __enter__(self):
        if self._is_held:
            return self.acquire()
        self._is_held = True
        return True

    def release(self):
        if not self._is_held:
            raise RuntimeError("release unlocked lock")
        self._is_held = False

    def __exit__(self, kind, value, trace):
        self.release()

    def locked(self):
        return self._is_held

    def __reduce__(self):
        raise TypeError("cannot pickle '_thread.lock' object")

    def __repr__(self):
        return f"<{'locked' if self._is_held else 'unlocked'} _thread.lock object at {id(self):#x}>"

    acquire_lock, release_lock, locked_lock = acquire, release, locked


def put(self, item, block=True, timeout=None):
    """`queue.Queue.put`: what would wait for another thread goes on."""
    if block and timeout is None and (waiting or running) and 0 < self.maxsize <= self._qsize() < SURPLUS_MAX:
        size, self.maxsize = self.maxsize, 0
        try:
            return put_within_bound(self, item)
        finally:
            self.maxsize = size
    return put_within_bound(self, item, block, timeout)


put_within_bound = queue.Queue.put


def submit(self, function, /, *args, **kwargs):
    """An executor's `submit` without threads: the call happens now."""
    if self._shutdown:
        raise RuntimeError("cannot schedule new futures after shutdown")
    if "_worker" not in self.__dict__:
        self._worker = self._create_worker_context()
        self._worker.initialize()
    future = concurrent.futures.Future()
    future.set_running_or_notify_cancel()
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(result)
    return future


class ProcessPoolExecutor(concurrent.futures.ThreadPoolExecutor):
    """As the other one: no process is started."""

    __module__ = "concurrent.futures.process"

    def __init__(self, max_workers=None, mp_context=None, initializer=None, initargs=(), *, max_tasks_per_child=None):
        super().__init__(max_workers, "", initializer, initargs)


class Process(threading.Thread):
    """A thread by another name: what it changes of the program's values stays changed."""

    __module__ = "multiprocessing"
    exitcode = None
    pid = threading.Thread.ident

    def __init__(self, group=None, target=None, name=None, args=(), kwargs=None, *, daemon=None):
        super().__init__(None, target, name or f"Process-{next(process_numbers)}", args, kwargs, daemon=daemon)

    def run(self):
        self.exitcode = 1
        try:
            super().run()
        except SystemExit as left:
            self.exitcode = left.code if isinstance(left.code, int) else 1 if left.code else 0
        else:
            self.exitcode = 0

    def terminate(self):
        if self in waiting:
            waiting.remove(self)
            self.exitcode = -15

    kill = terminate

    def close(self):
        pass


class Pool:
    """`multiprocessing.Pool` and `ThreadPool`: every call happens at once."""

    __module__ = "multiprocessing.pool"

    def __init__(self, processes=None, initializer=None, initargs=(), *args, **kwargs):
        if processes is not None and processes < 1:
            raise ValueError("Number of processes must be at least 1")
        self._is_closed = False
        if initializer is not None:
            initializer(*initargs)

    def apply(self, func, args=(), kwds=None):
        return self.apply_async(func, args, kwds).get()

    def apply_async(self, func, args=(), kwds=None, callback=None, error_callback=None):
        if self._is_closed:
            raise ValueError("Pool not running")
        return Answer(lambda: func(*args, **(kwds or {})), callback, error_callback)

    def map(self, func, iterable, chunksize=None):
        return self.map_async(func, iterable).get()

    def map_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return self.apply_async(lambda: [func(each) for each in iterable], (), None, callback, error_callback)

    def starmap(self, func, iterable, chunksize=None):
        return self.map(lambda each: func(*each), iterable)

    def starmap_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return self.map_async(lambda each: func(*each), iterable, None, callback, error_callback)

    def imap(self, func, iterable, chunksize=1):
        return iter(self.map(func, iterable))

    imap_unordered = imap

    def close(self):
        self._is_closed = True

    terminate = close

    def join(self):
        if not self._is_closed:
            raise ValueError("Pool is still running")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class Answer:
    """What a call of a pool gave."""

    def __init__(self, call, callback, error_callback):
        self._value = self._error = None
        try:
            self._value = call()
        except Exception as error:
            self._error, callback = error, error_callback
        if callback is not None:
            callback(self._value if self._error is None else self._error)

    def get(self, timeout=None):
        if self._error is not None:
            raise self._error
        return self._value

    def wait(self, timeout=None):
        pass

    def ready(self):
        return True

    def successful(self):
        return self._error is None


def install():
    _thread.allocate_lock = _thread.lock = _thread.LockType = Lock
    threading.Lock = threading._allocate_lock = threading._LockType = Lock
    queue.SimpleQueue = queue._PySimpleQueue
    queue.Queue.put = hide_frame(put, queue.Queue.put)
    _thread.get_ident = threading.get_ident = threading.get_native_id = get_ident
    threading.local = _threading_local.local
    threading.Thread.start, threading.Thread.join, threading.Thread.is_alive = start, join, is_alive
    concurrent.futures.ThreadPoolExecutor.submit = submit
    concurrent.futures.ProcessPoolExecutor = ProcessPoolExecutor
    multiprocessing.Pool = multiprocessing.pool.Pool = multiprocessing.pool.ThreadPool = Pool
    multiprocessing.Process = Process
    for name in ("Barrier", "BoundedSemaphore", "Condition", "Event", "Lock", "RLock", "Semaphore"):
        setattr(multiprocessing, name, getattr(threading, name))
    multiprocessing.Queue = multiprocessing.JoinableQueue = queue.Queue
    multiprocessing.SimpleQueue = queue.SimpleQueue
    time.thread_time, time.thread_time_ns = time.process_time, time.process_time_ns
