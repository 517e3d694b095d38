import time
start = time.perf_counter()
total = sum(i * i for i in range(100_000))
elapsed = time.perf_counter() - start
print(total, elapsed >= 0, elapsed < 60, time.time() > 1.6e9)
print(time.strftime("%Y-%m-%d", time.gmtime(0)), time.gmtime(86400 * 365).tm_year)
time.sleep(0.01)
print(time.monotonic() > 0, type(time.time_ns()).__name__)
