"""Dates: arithmetic, weekdays, calendars, time zones, business days, parsing."""
import calendar
from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

start = date(2024, 2, 26)
for offset in range(5):
    d = start + timedelta(days=offset)
    print(d, d.strftime("%a %d %b"), d.isocalendar()[:2], d.timetuple().tm_yday)


def business_days(a, b, holidays=()):
    return sum((a + timedelta(n)).weekday() < 5 and a + timedelta(n) not in holidays for n in range((b - a).days))


print(business_days(date(2024, 1, 1), date(2025, 1, 1), {date(2024, 12, 25), date(2024, 1, 1)}))
print(calendar.month(2024, 2))
print([y for y in range(1896, 1925) if calendar.isleap(y)], calendar.monthrange(2023, 2))
utc = datetime(2024, 3, 10, 6, 30, tzinfo=timezone.utc)
for zone in ("America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"):
    local = utc.astimezone(ZoneInfo(zone))
    print(f"{zone:<22}{local:%Y-%m-%d %H:%M %Z %z} dst={local.dst()}")
before = datetime(2024, 10, 27, 1, 30, tzinfo=ZoneInfo("Europe/Berlin"))
print((before + timedelta(hours=2)).isoformat(), (before.astimezone(timezone.utc) + timedelta(hours=2)).astimezone(ZoneInfo("Europe/Berlin")).isoformat())
print(datetime.fromisoformat("2024-05-06T07:08:09.123456+02:00").astimezone(timezone.utc))
print(datetime.strptime("6 May 2024 03:04 PM", "%d %B %Y %I:%M %p"))
print(timedelta(hours=49, minutes=-30), timedelta(seconds=90) / timedelta(minutes=1), divmod(timedelta(hours=25), timedelta(hours=7)))
print(time(23, 59, 59).isoformat("minutes"), datetime.combine(start, time(1, 2)).timestamp() if False else "skip")
print(datetime(1970, 1, 2, tzinfo=timezone.utc).timestamp(), datetime.fromtimestamp(86400 * 365, timezone.utc))
birthday = date(1990, 12, 17)
today = date(2024, 6, 1)
age = today.year - birthday.year - ((today.month, today.day) < (birthday.month, birthday.day))
nxt = birthday.replace(year=today.year)
print(age, (nxt - today).days)
try:
    date(2023, 2, 29)
except ValueError as e:
    print(type(e).__name__)
first_mondays = [next(date(2024, m, d) for d in range(1, 8) if date(2024, m, d).weekday() == calendar.MONDAY) for m in range(1, 13)]
print([d.day for d in first_mondays])
