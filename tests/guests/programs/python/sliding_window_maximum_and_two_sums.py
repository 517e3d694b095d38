from collections import deque

def sliding_max(nums, k):
    q, out = deque(), []
    for i, n in enumerate(nums):
        while q and nums[q[-1]] <= n:
            q.pop()
        q.append(i)
        if q[0] == i - k:
            q.popleft()
        if i >= k - 1:
            out.append(nums[q[0]])
    return out

def two_sum(nums, target):
    seen = {}
    for i, n in enumerate(nums):
        if target - n in seen:
            return seen[target - n], i
        seen[n] = i

def three_sum(nums):
    nums.sort()
    found = set()
    for i in range(len(nums) - 2):
        lo, hi = i + 1, len(nums) - 1
        while lo < hi:
            s = nums[i] + nums[lo] + nums[hi]
            if s == 0:
                found.add((nums[i], nums[lo], nums[hi]))
            if s < 0:
                lo += 1
            else:
                hi -= 1
    return sorted(found)

print(sliding_max([1, 3, -1, -3, 5, 3, 6, 7], 3))
print(two_sum([2, 7, 11, 15], 26))
print(three_sum([-1, 0, 1, 2, -1, -4]))
