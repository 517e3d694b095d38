"""Threads: a pool, a lock around a counter, a queue of jobs and futures as they complete."""
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed


def work(n):
    time.sleep(0.001 * n)
    if n == 4:
        raise ValueError("four is bad")
    return n * n


with ThreadPoolExecutor(max_workers=3) as pool:
    print(list(pool.map(lambda n: n + 1, range(5))))
    futures = {pool.submit(work, n): n for n in range(6)}
    outcome = {}
    for future in as_completed(futures):
        n = futures[future]
        try:
            outcome[n] = future.result()
        except ValueError as e:
            outcome[n] = str(e)
    print(sorted(outcome.items()))

counter, lock = 0, threading.Lock()


def add(times):
    global counter
    for _ in range(times):
        with lock:
            counter += 1


threads = [threading.Thread(target=add, args=(1000,), name=f"t{i}") for i in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(counter, [t.name for t in threads], any(t.is_alive() for t in threads))

jobs, results = queue.Queue(), []


def worker():
    while True:
        job = jobs.get()
        if job is None:
            break
        results.append(job * 10)
        jobs.task_done()


crew = [threading.Thread(target=worker, daemon=True) for _ in range(2)]
for t in crew:
    t.start()
for n in range(8):
    jobs.put(n)
jobs.join()
for _ in crew:
    jobs.put(None)
for t in crew:
    t.join(timeout=2)
print(sorted(results))
event = threading.Event()
timer = threading.Timer(0.01, event.set)
timer.start()
print(event.wait(1))
local = threading.local()
local.x = 1
print(local.x, threading.current_thread().name, threading.active_count() >= 1)
