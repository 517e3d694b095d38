"""Plain JSON, in and out: what crosses the border between a program and the host.

A plain result has string keys, finite floats, no cycles; of any other, `nearest` makes what comes nearest. What is derived from
a plain type counts as one, as `json` has it: a Counter is an object, a named tuple a list, an IntEnum's member a number.
"""

import json
import math
import types
from json.encoder import c_make_encoder, encode_basestring


def encoder(default):
    """Writes compact JSON as `json` does, with an encoder that is made once: `JSONEncoder.encode` makes one for every value."""
    under_way = {}
    write = c_make_encoder(under_way, default, encode_basestring, None, ":", ",", False, False, False)

    def encode(value):
        try:
            return "".join(write(value, 0))
        except BaseException:
            under_way.clear()  # or what failed would count as containing itself
            raise

    return encode


encode = encoder(json.JSONEncoder().default)
scan = json.JSONDecoder().scan_once


def decode(text):
    """For what the host sends: JSON with nothing around it."""
    return scan(text, 0)[0]


RESULT_BYTES = 4 << 20  # of JSON; the host takes no more
SCALARS = frozenset((int, str, bool, float, type(None)))
SMALL = 1 << 60
PLAIN_HINT = (
    "return plain JSON: None, booleans, numbers, strings, lists, and dicts with string keys "
    '(numpy: .tolist(); pandas: .to_dict("records") of a table, .tolist() of a column)'
)
AWAIT_HINT = "await it: a program may use await at its top level"
OBJECTS = (dict, frozendict)  # noqa: F821


class NotSerializable(Exception):
    hint = PLAIN_HINT


class TooLarge(NotSerializable):
    hint = "write large data to a file"


def refusal_of(kind):
    refused = NotSerializable(f"JSON has no {kind.__name__}")
    if kind is types.CoroutineType:
        refused.hint = AWAIT_HINT
    return refused


def check_plain(value):
    """Plain JSON only: string keys, finite floats. The value is known to be a tree."""
    pending = [value]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind in (str, int, bool, type(None)):
            continue
        if issubclass(kind, float):
            if not math.isfinite(item):
                raise NotSerializable(f"JSON has no {item!r}")
        elif issubclass(kind, OBJECTS):
            for key in item:
                if not isinstance(key, str):
                    raise NotSerializable(f"keys of JSON are strings, not {type(key).__name__}")
            pending.extend(item.values())
        elif issubclass(kind, (list, tuple)):
            pending.extend(item)
        elif is_number(kind):
            pending.append(item.item())
        elif not issubclass(kind, (str, int)):
            raise refusal_of(kind)


def is_number(kind):
    """numpy's own numbers and booleans: what means and sums of arrays are."""
    return kind.__module__ == "numpy" and kind.__name__.rstrip("_").rstrip("0123456789") in ("float", "int", "uint", "bool")


def plain_number(value):
    if is_number(type(value)):
        return value.item()
    if type(value) is types.CoroutineType:
        value.close()  # or Python would say once more that it was not awaited
    raise refusal_of(type(value))


encode_strictly = encoder(plain_number)


LEAST_BYTES = {list: 2, tuple: 2, dict: 5}  # of JSON, for each item


def count_least_bytes(value):
    """How many bytes of JSON a list, tuple or dict takes at least, also a list of those: quick, before it is written."""
    if type(value) is list and len(value) > 1000 and type(value[0]) in LEAST_BYTES:
        return sum([2 + len(item) * LEAST_BYTES[type(item)] for item in value if type(item) in LEAST_BYTES])
    return len(value) * LEAST_BYTES[type(value)] if type(value) in LEAST_BYTES else 0


def encode_result(value):
    kind = type(value)
    if value is None:
        return b'D{"result":null}'
    if kind is int and -SMALL < value < SMALL:
        return f'D{{"result":{value}}}'.encode()
    if (least := count_least_bytes(value)) > RESULT_BYTES:
        raise TooLarge(f"it has at least {least:,} bytes of JSON, and a result may have {RESULT_BYTES:,}")
    try:
        encoded = b"D" + encode_strictly({"result": value}).encode()
    except MemoryError:
        raise TooLarge(f"there is no memory to write it as JSON; a result may have {RESULT_BYTES:,} bytes") from None
    except UnicodeEncodeError:
        raise NotSerializable("its text is no valid Unicode") from None
    except RecursionError:
        raise NotSerializable("it is nested too deeply for JSON") from None
    except (TypeError, ValueError) as error:  # keys of other types, infinities, cycles, numbers too long to write
        raise NotSerializable(f"it cannot be written as JSON: {error}") from None
    if len(encoded) > RESULT_BYTES:  # before a look at every item, which takes longer than to write them
        raise TooLarge(f"it has {len(encoded):,} bytes of JSON, and a result may have {RESULT_BYTES:,}")
    if kind not in (int, bool, str):
        check_plain(value)
    return encoded
