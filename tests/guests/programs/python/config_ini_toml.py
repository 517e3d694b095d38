"""Configuration from INI, TOML and environment with precedence; logging to stdout; string templates."""
import configparser
import logging
import os
import string
import sys
import tomllib

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)-8s %(name)s: %(message)s")
log = logging.getLogger("app.config")
ini = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation())
ini.read_string("""
[DEFAULT]
base = /srv
[server]
host = localhost
port = 8080
root = ${base}/www
debug = yes
[paths]
log = ${server:root}/log
list = a, b,
    c
""")
print(ini.sections(), ini["server"]["root"], ini["paths"]["log"], ini.getboolean("server", "debug"), ini.getint("server", "port"))
print([x.strip() for x in ini["paths"]["list"].replace("\n", " ").split(",")], ini.get("server", "nope", fallback="none"))
toml = tomllib.loads("""
title = "Demo"
when = 2024-05-06T07:08:09Z
[server]
port = 9000
limits = { cpu = 2, mem = 1.5 }
[[user]]
name = "ann"
[[user]]
name = "bob"
roles = ["x", "y"]
""")
print(toml["title"], toml["when"].isoformat(), toml["server"], [u["name"] for u in toml["user"]])
try:
    tomllib.loads("a = ")
except tomllib.TOMLDecodeError as e:
    print("toml error:", str(e).split("(")[0].strip())
os.environ["APP_PORT"] = "7000"
port = int(os.environ.get("APP_PORT") or toml["server"]["port"])
log.info("port %d of %s", port, {"env": True})
log.debug("not shown")
log.warning("careful: %s", "disk %d%%" % 93)
try:
    1 / 0
except ZeroDivisionError:
    log.error("calculation failed: %s", sys.exc_info()[1])
child = log.getChild("db")
child.setLevel(logging.ERROR)
child.warning("hidden")
child.critical("shown")
print(string.Template("$who owes ${amount} and $$5 $missing").safe_substitute(who="Al", amount=3))
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("{levelname:.1s}|{message}", style="{"))
other = logging.getLogger("other")
other.addHandler(handler)
other.propagate = False
other.error("styled")
print(os.path.expandvars("port is $APP_PORT"), os.getenv("NOT_SET"))
