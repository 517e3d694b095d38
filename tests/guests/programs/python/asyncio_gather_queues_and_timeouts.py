import asyncio

async def worker(name, queue, results):
    while True:
        item = await queue.get()
        await asyncio.sleep(0.001 * item)
        results.append((name, item ** 2))
        queue.task_done()

async def main():
    queue, results = asyncio.Queue(), []
    for i in range(6):
        queue.put_nowait(i)
    workers = [asyncio.create_task(worker(f"w{i}", queue, results)) for i in range(2)]
    await queue.join()
    for w in workers:
        w.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    print(sorted(v for _, v in results))

    async def fetch(n):
        await asyncio.sleep(0)
        if n == 2:
            raise ValueError("bad two")
        return n * 10
    print(await asyncio.gather(*(fetch(i) for i in range(4)), return_exceptions=True))
    try:
        await asyncio.wait_for(asyncio.sleep(5), timeout=0.01)
    except asyncio.TimeoutError:
        print("timed out")
    async with asyncio.TaskGroup() as tg:
        t1, t2 = tg.create_task(fetch(1)), tg.create_task(fetch(3))
    print(t1.result(), t2.result())

asyncio.run(main())
