import asyncio

async def ticker(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i

class Resource:
    async def __aenter__(self):
        print("open"); return self
    async def __aexit__(self, *exc):
        print("close")

async def main():
    async with Resource():
        print([x async for x in ticker(5) if x % 2 == 0])
    lock, log = asyncio.Lock(), []
    async def critical(name):
        async with lock:
            log.append(f"{name} in")
            await asyncio.sleep(0.001)
            log.append(f"{name} out")
    await asyncio.gather(critical("a"), critical("b"))
    print(log)
    event = asyncio.Event()
    async def waiter():
        await event.wait()
        return "woken"
    task = asyncio.create_task(waiter())
    await asyncio.sleep(0)
    event.set()
    print(await task)

asyncio.run(main())
