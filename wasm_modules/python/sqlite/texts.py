"""Values as text, in every way that the command writes them: plainly, as SQL, C, CSV, JSON and HTML.

A value is what SQLite gives: None, int, float, str, bytes. Text that is no UTF-8 goes through as surrogates.
"""

import functools
import html
import math
import re

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
NEEDS_CSV_QUOTES = re.compile("[\0-\x20\"'\x7f-\U0010ffff]")
JSON_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
C_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\v": "\\v"}
MANTISSA_BITS, HALF_OF_LAST = 64, 5.0e-10 * 1.0e-10
SPECIAL_IN_JSON = re.compile(r'["\\\x00-\x1f]')
SPECIAL_IN_C = re.compile(r'["\\\x00-\x1f\x7f-\U0010ffff]')
WORDS = """
abort action add after all alter always analyze and as asc attach autoincrement before begin between by cascade case cast
check collate column commit conflict constraint create cross current current_date current_time current_timestamp database
default deferrable deferred delete desc detach distinct do drop each else end escape except exclude exclusive exists explain
fail filter first following for foreign from full generated glob group groups having if ignore immediate in index indexed
initially inner insert instead intersect into is isnull join key last left like limit match materialized natural no not
nothing notnull null nulls of offset on or order others outer over partition plan pragma preceding primary query raise range
recursive references regexp reindex release rename replace restrict returning right rollback row rows savepoint select set
table temp temporary then ties to transaction trigger unbounded union unique update using vacuum values view virtual when
where window with without
"""
KEYWORDS = frozenset(WORDS.split())


def decode(data):
    return data.decode("utf-8", "surrogateescape")


def write_real(number):
    if math.isinf(number):
        return "Inf" if number > 0 else "-Inf"
    text = f"{number + 0.0:.15g}"  # nought has no sign
    mantissa, e, exponent = text.partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + e + exponent


def write_exact(number):
    """A real number such that it is the same one when it is read again."""
    if math.isinf(number):
        return "1e999" if number > 0 else "-1e999"
    return write_digits(number)


def rounded(numerator, denominator):
    """A quotient as (m, e) for m * 2 ** e, where m has 64 bits: the arithmetic of the library's extended numbers."""
    shift = numerator.bit_length() - denominator.bit_length() - MANTISSA_BITS
    shift += (numerator << max(-shift, 0)) >= (denominator << max(shift, 0)) << MANTISSA_BITS
    quotient, rest = divmod(numerator << max(-shift, 0), denominator << max(shift, 0))
    twice = 2 * rest - (denominator << max(shift, 0))
    quotient += twice > 0 or (twice == 0 and quotient & 1)
    return quotient, shift


def multiplied(value, factor):
    numerator, denominator = factor.as_integer_ratio()
    mantissa, exponent = value
    return rounded(mantissa * numerator << max(exponent, 0), denominator << max(-exponent, 0))


def is_less(value, other):
    least = min(value[1], other[1])
    return value[0] << value[1] - least < other[0] << other[1] - least


@functools.lru_cache(4096)
def write_digits(number):
    """Up to 20 digits as SQLite 3.40 finds them, whose last ones are those of its own arithmetic."""
    if not number:
        return "0.0"
    value, scale, power = rounded(*abs(number).as_integer_ratio()), (1, 0), 0
    for factor, step in ((1e100, 100), (1e10, 10), (10.0, 1)):
        while not is_less(value, multiplied(scale, factor)):
            scale, power = multiplied(scale, factor), power + step
    least = min(value[1], scale[1])
    value = rounded(value[0] << value[1] - least, scale[0] << scale[1] - least)
    for limit, factor, step in ((1e-8, 1e8, 8), (1.0, 10.0, 1)):
        while is_less(value, rounded(*limit.as_integer_ratio())):
            value, power = multiplied(value, factor), power - step
    half, unit = HALF_OF_LAST.as_integer_ratio()
    mantissa, exponent = value
    value = rounded(mantissa * unit + (half << -exponent), unit << -exponent)
    if not is_less(value, (10, 0)):
        value, power = multiplied(value, 0.1), power + 1
    digits = ""
    for _ in range(20):
        mantissa, exponent = value
        digit = mantissa >> -exponent
        rest = mantissa - (digit << -exponent)
        digits += str(digit)
        value = rounded(rest * 10, 1 << -exponent) if rest else (0, -1)
    return place_point("-" * (number < 0), digits.rstrip("0"), power)


def place_point(sign, digits, power):
    if not -5 < power < 20:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}e{power:+03d}"
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    whole = digits.ljust(power + 1, "0")
    return f"{sign}{whole[: power + 1]}.{whole[power + 1 :] or '0'}"


def write_plain(value):
    """As the column's text: None stays None, and what is behind a NUL is not seen."""
    if value is None:
        return None
    if isinstance(value, float):
        return write_real(value)
    text = decode(value) if isinstance(value, bytes) else str(value)
    return text.partition("\0")[0]


def quote_sql(value, mark="X"):
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return write_exact(value)
    if isinstance(value, bytes):
        return f"{mark}'{value.hex()}'"
    return "'" + value.partition("\0")[0].replace("'", "''") + "'" if isinstance(value, str) else str(value)


def quote_sql_in_a_line(value):
    """As `quote_sql`, with line ends as what a function makes of other text."""
    quoted = quote_sql(value)
    if not isinstance(value, str) or not ("\n" in quoted or "\r" in quoted):
        return quoted
    before, behind = "", ""
    for char, short, octal, number in (("\n", "\\n", "\\012", 10), ("\r", "\\r", "\\015", 13)):
        if char in quoted:
            mark = next(one for one in (short, octal, *(f"({short[1]}{n})" for n in range(10000))) if one not in quoted)
            quoted = quoted.replace(char, mark)
            # The first kind is the outermost call.
            before, behind = before + "replace(", f",'{mark}',char({number}))" + behind
    return before + quoted + behind


def quote_name(name):
    if PLAIN_NAME.match(name) and name.lower() not in KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def quote_csv(text, separator):
    if not text or NEEDS_CSV_QUOTES.search(text) or separator in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def quote_json(text):
    return '"' + SPECIAL_IN_JSON.sub(lambda found: JSON_ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}", text) + '"'


def write_json(value):
    if value is None:
        return "null"
    if isinstance(value, float):
        return write_exact(value)
    if isinstance(value, bytes):
        return quote_json(value.decode("latin-1")).encode("latin-1").decode("utf-8", "surrogateescape")
    return quote_json(value.partition("\0")[0]) if isinstance(value, str) else str(value)


def escape_c(found):
    char = found[0]
    return C_ESCAPES.get(char) or "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


def quote_c(text):
    return '"' + SPECIAL_IN_C.sub(escape_c, text) + '"'


def quote_html(text):
    return html.escape(text).replace("&#x27;", "&#39;")
