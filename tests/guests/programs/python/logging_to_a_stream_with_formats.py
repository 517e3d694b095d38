import logging, sys, io
stream = io.StringIO()
logging.basicConfig(stream=stream, level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s", force=True)
log = logging.getLogger("app.db")
log.debug("not shown")
log.info("connected to %s:%d", "localhost", 5432)
log.warning("slow query: %.2fs", 1.234)
try:
    1 / 0
except ZeroDivisionError:
    log.error("failed", exc_info=False)
child = log.getChild("pool")
child.setLevel(logging.ERROR)
child.warning("hidden"); child.critical("seen")
print(stream.getvalue(), end="")
