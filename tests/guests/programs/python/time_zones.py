from datetime import datetime
from zoneinfo import ZoneInfo
meeting = datetime(2024, 3, 10, 9, 30, tzinfo=ZoneInfo("America/New_York"))
for zone in ["UTC", "Europe/Berlin", "Asia/Kolkata", "Asia/Tokyo", "Australia/Sydney"]:
    print(f"{zone:20} {meeting.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M %Z %z}")
