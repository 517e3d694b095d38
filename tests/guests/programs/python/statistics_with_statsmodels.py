import numpy as np, pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
data = sm.datasets.longley.load_pandas().data
model = smf.ols("TOTEMP ~ GNP + YEAR", data=data).fit()
print(model.params.round(3).to_dict(), round(model.rsquared, 4), int(model.nobs))
x = np.arange(20.0)
y = 2 * x + 1 + np.sin(x)
res = sm.OLS(y, sm.add_constant(x)).fit()
print(res.params.round(3), res.pvalues[1] < 0.001)
