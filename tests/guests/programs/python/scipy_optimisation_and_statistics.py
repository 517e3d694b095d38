import numpy as np
from scipy import optimize, stats, integrate, interpolate
print(np.round(optimize.minimize(lambda v: (v[0] - 1) ** 2 + (v[1] + 2) ** 2, [0, 0]).x, 4))
print(round(optimize.brentq(lambda x: x ** 3 - 2, 0, 2), 8), np.round(optimize.fsolve(lambda x: np.cos(x) - x, 1.0), 6))
print(np.round(integrate.quad(np.sin, 0, np.pi)[0], 10))
popt, _ = optimize.curve_fit(lambda x, a, b: a * np.exp(b * x), [0, 1, 2, 3], [1, 2.7, 7.4, 20.1])
print(popt.round(2))
a, b = [5.1, 4.9, 6.2, 5.8, 5.5], [6.1, 6.5, 5.9, 7.0, 6.8]
t = stats.ttest_ind(a, b)
print(round(t.statistic, 4), round(t.pvalue, 4), round(stats.pearsonr(a, b)[0], 4), stats.norm.ppf(0.975).round(4))
print(interpolate.interp1d([0, 1, 2], [0, 10, 40])([0.5, 1.5]), stats.chisquare([16, 18, 16, 14, 12, 12]).pvalue.round(4))
