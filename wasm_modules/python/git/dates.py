"""Dates as git reads and prints them. The zone of this machine is UTC."""

import datetime
import email.utils
import re
import time

from _hatchway.git.base import Failure

ISO = re.compile(r"(\d{4})[-./](\d\d?)[-./](\d\d?)(?:[T ](\d\d?):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?\s*(Z|[+-]\d\d:?\d\d)?$")
AGO = re.compile(r"(\d+|an?|one|two|three)[. ]+(second|minute|hour|day|week|month|year)s?(?:[. ]+ago)?$")
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "month": 2592000, "year": 31536000}
NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3}


def zone_seconds(text):
    if text in (None, "", "Z"):
        return 0
    digits = text[1:].replace(":", "")
    return (-1 if text[0] == "-" else 1) * (int(digits[:2]) * 3600 + int(digits[2:4]) * 60)


def read(text):
    """Seconds and zone of a date that is written in full, or None."""
    text = text.strip()
    found = re.fullmatch(r"@?(\d+)(?: ([+-]\d{4}))?", text)
    if found and (text[0] == "@" or found[2] or len(found[1]) > 8):
        return int(found[1]), zone_seconds(found[2])
    found = ISO.match(text)
    try:
        if found:
            year, month, day, *clock = (int(part or 0) for part in found.groups()[:6])
            zone = zone_seconds(found[7])
            at = datetime.datetime(year, month, day, *clock, tzinfo=datetime.UTC)
            return int(at.timestamp()) - zone, zone
        at = email.utils.parsedate_tz(text)
        if at is None:
            at = email.utils.parsedate_tz(re.sub(r"^(\w+) (\w+) (\d+) ([\d:]+) (\d{4})", r"\1, \3 \2 \5 \4", text))
        return None if at is None else (int(email.utils.mktime_tz(at)), at[9] or 0)
    except (ValueError, OverflowError):
        return None


def read_or_fail(text):
    found = read(text)
    if found is None:
        raise Failure(f"invalid date format: {text}")
    return found


def since(text):
    """Seconds of a date in words too: `2 weeks ago`, `yesterday`."""
    found = read(text)
    if found:
        return found[0]
    text, now = text.strip().lower().replace(".", " "), int(time.time())
    if text in ("now", "today"):
        return now
    if text in ("yesterday",):
        return now - 86400
    found = AGO.match(text)
    if found:
        return now - (NUMBERS.get(found[1]) or int(found[1])) * SECONDS[found[2]]
    raise Failure(f"the date {text!r} is not understood here; write it as 2024-01-31 or '2 weeks ago'")


def zone_text(zone):
    return f"{'-' if zone < 0 else '+'}{abs(zone) // 3600:02}{abs(zone) // 60 % 60:02}"


def ago(seconds):
    passed = max(0, int(time.time()) - seconds)
    if passed < 90:
        return plural(passed, "second") + " ago"
    if passed < 90 * 60:
        return plural((passed + 30) // 60, "minute") + " ago"
    if passed < 36 * 3600:
        return plural((passed + 1800) // 3600, "hour") + " ago"
    days = (passed + 43200) // 86400
    if days < 14:
        return plural(days, "day") + " ago"
    if days < 70:
        return plural((days + 3) // 7, "week") + " ago"
    if days < 365:
        return plural((days + 15) // 30, "month") + " ago"
    if days < 1825:
        months = (days * 12 * 2 + 365) // (365 * 2)
        years, months = divmod(months, 12)
        return plural(years, "year") + (", " + plural(months, "month") if months else "") + " ago"
    return plural((days + 183) // 365, "year") + " ago"


def plural(count, word):
    return f"{count} {word}{'' if count == 1 else 's'}"


def show(seconds, zone, style="default"):
    if style.endswith("-local") or style == "local":
        style, zone, is_local = style.removesuffix("-local").replace("local", "default"), 0, True
    else:
        is_local = False
    if style == "relative":
        return ago(seconds)
    if style == "unix":
        return str(seconds)
    if style == "raw":
        return f"{seconds} {zone_text(zone)}"
    try:
        at = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds + zone)
    except OverflowError:
        at, zone = datetime.datetime(1970, 1, 1), 0
    text = zone_text(zone)
    if style.startswith("format:"):
        return at.strftime(style[7:].replace("%z", text).replace("%Z", "UTC" if is_local else "").replace("%s", str(seconds)))
    if style in ("iso", "iso8601"):
        return at.strftime("%Y-%m-%d %H:%M:%S ") + text
    if style in ("iso-strict", "iso8601-strict"):
        return at.strftime("%Y-%m-%dT%H:%M:%S") + (f"{text[:3]}:{text[3:]}")
    if style == "short":
        return at.strftime("%Y-%m-%d")
    if style in ("rfc", "rfc2822"):
        return f"{at:%a}, {at.day} {at:%b %Y %H:%M:%S} {text}"
    if style not in ("default", "normal", "human"):
        raise Failure(f"unknown date format {style}")
    return f"{at:%a %b} {at.day} {at:%H:%M:%S %Y}" + ("" if is_local else f" {text}")
