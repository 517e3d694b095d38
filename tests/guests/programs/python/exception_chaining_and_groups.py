class ConfigError(Exception): pass

def load(text):
    try:
        return int(text)
    except ValueError as e:
        raise ConfigError(f"bad value {text!r}") from e

try:
    load("abc")
except ConfigError as e:
    print(e, "| cause:", type(e.__cause__).__name__)

try:
    raise ExceptionGroup("many", [ValueError("a"), TypeError("b"), ValueError("c")])
except* ValueError as eg:
    print("values", [str(x) for x in eg.exceptions])
except* TypeError as eg:
    print("types", [str(x) for x in eg.exceptions])

def cleanup():
    try:
        return "try"
    finally:
        print("finally runs")
print(cleanup())
try:
    try:
        raise KeyError("k")
    finally:
        print("inner")
except KeyError as e:
    e.add_note("while testing")
    print(repr(e), e.__notes__)
else:
    print("not here")
