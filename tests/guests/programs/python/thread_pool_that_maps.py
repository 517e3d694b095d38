from concurrent.futures import ThreadPoolExecutor, as_completed

def work(n):
    if n == 3:
        raise ValueError("three is bad")
    return n * n

with ThreadPoolExecutor(max_workers=4) as pool:
    print(list(pool.map(lambda x: x + 1, range(5))))
    futures = {pool.submit(work, n): n for n in range(5)}
    results = {}
    for future in as_completed(futures):
        n = futures[future]
        try:
            results[n] = future.result()
        except ValueError as e:
            results[n] = f"error: {e}"
for n in sorted(results):
    print(n, results[n])
