from datetime import date, datetime, timedelta, timezone
import calendar

d = date(2024, 2, 28)
print(d + timedelta(days=2), (date(2024, 12, 25) - d).days, d.strftime("%A, %d %B %Y"))
print(datetime.strptime("2024-03-10 14:30", "%Y-%m-%d %H:%M").isoformat())
print([y for y in range(1996, 2030) if calendar.isleap(y)])
print(calendar.month(2024, 2))
t = datetime(2024, 7, 4, 12, 0, tzinfo=timezone.utc)
print(t.astimezone(timezone(timedelta(hours=-5))).isoformat(), t.timestamp())
def fridays_13(year):
    return [date(year, m, 13) for m in range(1, 13) if date(year, m, 13).weekday() == 4]
print([f"{x:%b}" for x in fridays_13(2026)])
print(d.isocalendar(), d.replace(day=1) - timedelta(days=1))
