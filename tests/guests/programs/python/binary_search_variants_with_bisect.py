import bisect
scores = [33, 99, 77, 70, 89, 90, 100]
def grade(score, breakpoints=(60, 70, 80, 90), grades="FDCBA"):
    return grades[bisect.bisect(breakpoints, score)]
print([grade(s) for s in scores])

def binary_search(xs, target):
    lo, hi = 0, len(xs) - 1
    steps = 0
    while lo <= hi:
        steps += 1
        mid = (lo + hi) // 2
        if xs[mid] == target:
            return mid, steps
        if xs[mid] < target:
            lo = mid + 1
        else:
            hi = mid - 1
    return -1, steps

xs = list(range(0, 1000, 7))
for t in (0, 49, 500, 994, 1):
    print(t, binary_search(xs, t), bisect.bisect_left(xs, t))
