import random, math
random.seed(1)
points = [(random.gauss(cx, 0.6), random.gauss(cy, 0.6)) for cx, cy in [(0, 0), (5, 5), (0, 6)] for _ in range(20)]
centers = random.sample(points, 3)
for iteration in range(50):
    clusters = [[] for _ in centers]
    for p in points:
        clusters[min(range(3), key=lambda i: math.dist(p, centers[i]))].append(p)
    new = [tuple(sum(v) / len(c) for v in zip(*c)) if c else centers[i] for i, c in enumerate(clusters)]
    if new == centers:
        break
    centers = new
print("iterations", iteration)
for c, cluster in sorted(zip(centers, clusters)):
    print(f"({c[0]:.3f}, {c[1]:.3f}) n={len(cluster)}")
