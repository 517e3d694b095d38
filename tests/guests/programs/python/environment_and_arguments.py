import os, sys, platform
os.environ["MY_VAR"] = "value"
print(os.environ.get("MY_VAR"), os.getenv("NOT_SET", "default"), os.path.expandvars("$MY_VAR/x"))
print(len(sys.argv), sys.version_info >= (3, 8), sys.platform in ("linux", "wasi"), sys.maxsize > 2 ** 30, os.sep, os.linesep == "\n")
print(sys.byteorder, sys.getdefaultencoding(), sys.float_info.max)
