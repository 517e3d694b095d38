import random
from collections import deque
rng = random.Random(2024)
clock, queue, served, waited = 0, deque(), 0, []
next_arrival, busy_until = rng.expovariate(1 / 4), 0.0
while served < 50:
    if next_arrival <= busy_until or not queue:
        clock = next_arrival
        queue.append(clock)
        next_arrival = clock + rng.expovariate(1 / 4)
    if queue and clock >= busy_until:
        arrived = queue.popleft()
        start = max(clock, busy_until)
        waited.append(start - arrived)
        busy_until = start + rng.uniform(1, 5)
        served += 1
    else:
        clock = busy_until if queue else next_arrival
print(f"served {served}, mean wait {sum(waited) / len(waited):.3f}, max {max(waited):.3f}")
print(rng.sample(range(100), 5), rng.choice("abc"), rng.shuffle(x := list(range(5))), x)
