import random, heapq

def quicksort(xs):
    if len(xs) <= 1:
        return xs
    pivot = xs[len(xs) // 2]
    return (quicksort([x for x in xs if x < pivot]) + [x for x in xs if x == pivot]
            + quicksort([x for x in xs if x > pivot]))

def mergesort(xs):
    if len(xs) <= 1:
        return xs
    mid = len(xs) // 2
    left, right = mergesort(xs[:mid]), mergesort(xs[mid:])
    out, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            out.append(left[i]); i += 1
        else:
            out.append(right[j]); j += 1
    return out + left[i:] + right[j:]

def heapsort(xs):
    heap = list(xs)
    heapq.heapify(heap)
    return [heapq.heappop(heap) for _ in range(len(heap))]

random.seed(42)
data = [random.randint(-100, 100) for _ in range(50)]
print(data[:10])
assert quicksort(data) == mergesort(data) == heapsort(data) == sorted(data)
print(sorted(data)[:10])
print("all agree")
