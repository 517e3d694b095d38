"""Producer/consumer with asyncio queues, semaphores, timeouts, gather with exceptions, cancellation."""
import asyncio


async def producer(queue, n):
    for i in range(n):
        await queue.put(i)
        await asyncio.sleep(0)
    for _ in range(2):
        await queue.put(None)


async def consumer(name, queue, results):
    while (item := await queue.get()) is not None:
        await asyncio.sleep(0.001 * (item % 3))
        results.append((item, item * item))
        queue.task_done()
    queue.task_done()
    return name


async def flaky(i):
    await asyncio.sleep(0.001 * i)
    if i % 3 == 0:
        raise ValueError(f"job {i} failed")
    return i * 10


async def limited(sem, i, active, peak):
    async with sem:
        active[0] += 1
        peak[0] = max(peak[0], active[0])
        await asyncio.sleep(0.002)
        active[0] -= 1
        return i


async def countdown(n):
    while n:
        yield n
        n -= 1
        await asyncio.sleep(0)


async def main():
    queue, results = asyncio.Queue(maxsize=3), []
    names = await asyncio.gather(producer(queue, 10), consumer("a", queue, results), consumer("b", queue, results))
    print(names, sorted(results))
    outcome = await asyncio.gather(*(flaky(i) for i in range(5)), return_exceptions=True)
    print([repr(o) for o in outcome])
    active, peak = [0], [0]
    sem = asyncio.Semaphore(3)
    done = await asyncio.gather(*(limited(sem, i, active, peak) for i in range(9)))
    print(done, "peak", peak[0])
    try:
        await asyncio.wait_for(asyncio.sleep(5), timeout=0.01)
    except asyncio.TimeoutError:
        print("timed out")
    task = asyncio.create_task(asyncio.sleep(10))
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled", task.cancelled())
    print([n async for n in countdown(4)])
    async with asyncio.timeout(1):
        async with asyncio.TaskGroup() as tg:
            ts = [tg.create_task(flaky(i)) for i in (1, 2, 4)]
    print([t.result() for t in ts])
    event = asyncio.Event()
    asyncio.get_running_loop().call_later(0.005, event.set)
    await event.wait()
    print("event set")
    try:
        async with asyncio.TaskGroup() as tg:
            tg.create_task(flaky(3))
            tg.create_task(asyncio.sleep(1))
    except* ValueError as group:
        print("group:", [str(e) for e in group.exceptions])


asyncio.run(main())
