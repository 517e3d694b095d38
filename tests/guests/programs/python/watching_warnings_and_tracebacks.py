import warnings, traceback, sys
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("old api", DeprecationWarning)
    print(len(caught), caught[0].category.__name__, caught[0].message)

def inner(): raise RuntimeError("deep")
def outer(): inner()
try:
    outer()
except RuntimeError:
    lines = traceback.format_exc().strip().splitlines()
    print(lines[0], lines[-1])
    print([f.name for f in traceback.extract_tb(sys.exc_info()[2])])
