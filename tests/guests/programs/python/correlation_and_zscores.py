from math import sqrt
from statistics import correlation, linear_regression, mean, stdev, NormalDist
heights = [150, 160, 165, 170, 175, 180, 190]
weights = [52, 58, 63, 68, 74, 79, 90]
print(round(correlation(heights, weights), 5), linear_regression(heights, weights))
z = [(h - mean(heights)) / stdev(heights) for h in heights]
print([round(v, 2) for v in z])
nd = NormalDist(100, 15)
print(f"{nd.cdf(130):.4f} {nd.inv_cdf(0.95):.3f} {nd.overlap(NormalDist(110, 15)):.4f}")
