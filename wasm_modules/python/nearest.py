"""The JSON that comes nearest to a value which is none, or which is too much: what a program's last value becomes then.

Rules: it is made for looking at, not for getting the value back, so it may lose something and the outcome says so. It is bounded
before it is built, iterators are not consumed, and a value that fails to be looked at is null.
"""

import itertools
import math
import sys

from _hatchway.plain import OBJECTS, RESULT_BYTES, SMALL, encode, is_number

DEPTH = 64
LEAST = 1000  # characters, for which there is always memory
DIGITS = 4000  # Python refuses to write longer numbers
TEXTS = (  # module, class: what is usually written as text
    ("datetime", "date"),
    ("datetime", "time"),
    ("datetime", "timedelta"),
    ("decimal", "Decimal"),
    ("fractions", "Fraction"),
    ("uuid", "UUID"),
    ("pathlib", "PurePath"),
    ("ipaddress", "_IPAddressBase"),
    ("numpy", "datetime64"),
    ("numpy", "timedelta64"),
)
ROWS = ("numpy.ndarray", "pandas.Series", "pandas.Index", "pandas.api.extensions.ExtensionArray")
VIEWS = (set, frozenset, type({}.keys()))
LISTS = (list, tuple, range, type({}.values()), type({}.items()))
TEXT_NAMES = [".".join(names) for names in TEXTS]
USUAL = frozenset((list, tuple, dict))  # which need no look at what else they could be


def simplify(value):
    """The nearest JSON as a value of plain types and its text, and whether something had to be left out for its size."""
    room = RESULT_BYTES // 4
    while True:
        walk = Walk(room)
        try:
            plain = walk.simplify(value, 0)
            if len(encode(plain).encode()) <= RESULT_BYTES:
                return plain, walk.is_cut
        except MemoryError:
            if room < LEAST:
                raise
        room //= 4  # what was counted as one character is written as up to six bytes


def is_of(value, names):
    """Is it an instance of one of these classes? A module that is not loaded has none."""
    for name in names:
        module, _, kind = name.rpartition(".")
        found = getattr(sys.modules.get(module), kind, None)
        if isinstance(found, type) and isinstance(value, found):
            return True
    return False


class Walk:
    def __init__(self, room):
        self.room = room
        self.is_cut = False
        self.above = set()

    def simplify(self, value, depth):
        self.room -= 2
        try:
            return self.convert(value, depth)
        except MemoryError:
            raise
        except Exception:
            return None

    def convert(self, value, depth):
        kind = type(value)
        if value is None or kind is bool:
            return value
        if isinstance(value, str):
            return self.cut_text(str.__str__(value))
        if isinstance(value, int):
            number = int(value)
            self.room -= number.bit_length() // 3
            return number if number.bit_length() < 3 * DIGITS else None
        if isinstance(value, float):
            self.room -= 16
            return float(value) if math.isfinite(value) else None
        if kind not in USUAL:
            if is_number(kind):
                return self.convert(value.item(), depth)
            if is_of(value, ("enum.Enum",)):
                return self.simplify(value.value, depth + 1)
            if is_of(value, TEXT_NAMES):
                return self.write(value)
        if depth >= DEPTH or id(value) in self.above:
            self.is_cut = True
            return None
        self.above.add(id(value))
        try:
            return self.convert_container(value, depth + 1)
        finally:
            self.above.discard(id(value))

    def write(self, value):
        if value != value:  # NaT, a signalling NaN
            return None
        return value.isoformat() if hasattr(value, "isoformat") else str(value)

    def convert_container(self, value, depth):
        if type(value) in (list, tuple):
            return self.fill_list(value, len(value), depth)
        if isinstance(value, OBJECTS) or is_of(value, ("types.MappingProxyType", "collections.abc.Mapping")):
            return self.fill_object(value.items(), depth)
        if is_of(value, ("pandas.DataFrame",)):
            return self.fill_list(value.head(self.most()).to_dict("records"), len(value), depth)
        if is_of(value, ROWS):
            return self.convert_rows(value, depth)
        if isinstance(value, VIEWS):
            return self.fill_list(self.in_order(value), len(value), depth)
        if isinstance(value, LISTS) or is_of(value, ("collections.deque", "array.array")):
            return self.fill_list(value, len(value), depth)
        fields = getattr(type(value), "__dataclass_fields__", None)
        if fields:
            return self.fill_object(((name, getattr(value, name, None)) for name in fields), depth)
        return None

    def convert_rows(self, value, depth):
        """numpy's and pandas' columns; `tolist` of a whole one could take more memory than there is."""
        shape = getattr(value, "shape", ())
        if not shape:
            return self.simplify(value.item(), depth)
        rows = value[: self.most()]
        return self.fill_list(rows if len(shape) > 1 else rows.tolist(), len(value), depth)

    def in_order(self, items):
        if len(items) > self.most():
            return items
        try:
            return sorted(items)
        except TypeError:
            return items

    def most(self):
        """How many items may still find room."""
        return max(0, self.room // 8)

    def fill_list(self, items, length, depth):
        out = []
        for item in itertools.islice(items, length):
            if self.room <= 0:
                break
            if type(item) is int and -SMALL < item < SMALL:  # long columns are mostly of these
                self.room -= 8
                out.append(item)
            else:
                out.append(self.simplify(item, depth))
        self.is_cut |= len(out) < length
        return out

    def fill_object(self, pairs, depth):
        out = {}
        for key, item in pairs:
            if self.room <= 0:
                self.is_cut = True
                break
            name = key if type(key) is str else self.name_of(key)
            out[self.cut_text(name)] = self.simplify(item, depth)
        return out

    def name_of(self, key):
        """As `json` writes keys, and anything else as text."""
        if isinstance(key, str):
            return str.__str__(key)
        if key is None or isinstance(key, (bool, int, float)):
            return encode(key) if key is None or isinstance(key, bool) else repr(key + 0)
        return self.write(key) or "null"

    def cut_text(self, text):
        whole = text[: max(0, self.room)]
        self.is_cut |= len(whole) < len(text)
        self.room -= len(whole)
        return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
