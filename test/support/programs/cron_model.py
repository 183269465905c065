"""Says when five-field cron expressions are due around each change of clocks, by the rule of docs/runtime.md.

Written from that page, with Python's own time zones: argument 1 is a year, the others are expressions with `*` as days.
Prints one JSON object per pattern of changes: a zone, its offsets hour by hour in minutes, and the due minutes.
"""

import json
import sys
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

UTC = timezone.utc
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
EPOCH = datetime(1970, 1, 1)


def values(field, top):
    """Returns the numbers that a field names."""
    found = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = (f"0-{top - 1}" if span == "*" else span).partition("-")
        found.update(range(int(first), int(last or first) + 1, int(step or 1)))
    return found


def wall(zone, at):
    """Returns the clock's time in a zone at a moment, both without a zone."""
    return at.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)


def changes(zone, year):
    """Returns the moments at which the clock of a zone jumps, with the jump."""
    found = []
    at, end = datetime(year, 1, 1), datetime(year + 1, 1, 1)
    while at < end:
        if wall(zone, at + DAY) - wall(zone, at) != DAY:
            moment = at
            while wall(zone, moment + MINUTE) - wall(zone, moment) == MINUTE:
                moment += MINUTE
            found.append((moment + MINUTE, wall(zone, moment + MINUTE) - wall(zone, moment) - MINUTE))
        at += DAY
    return found


def shown(zone, start, end):
    """Returns the moments at which the clock of a zone shows each time, from a day before start to a day after end."""
    clock = {}
    at = start - DAY
    while at < end + DAY:
        clock.setdefault(wall(zone, at), []).append(at)
        at += MINUTE
    return clock


def due(clock, expression, start, end):
    """Returns the moments from start to end at which an expression is due."""
    minutes, hours = expression.split()[:2]
    named = [(h, m) for h in values(hours, 24) for m in values(minutes, 60)]
    moments = set()
    follows_clock = any(sign in minutes + hours for sign in "*/")
    day = (start - DAY).replace(hour=0, minute=0)
    while day < end + DAY:
        for hour, minute in named:
            time = day.replace(hour=hour, minute=minute)
            there = clock.get(time, [])
            if follows_clock:
                moments.update(there)
            elif there:
                moments.add(there[0])
            elif min(clock) < time < max(clock):
                # The clock never shows it: the first moment of the day that shows a later one.
                later = [at for shows, ats in clock.items() if shows > time and shows.date() == time.date() for at in ats]
                moments.update(sorted(later)[:1])
        day += DAY
    return sorted(moment for moment in moments if start < moment <= end)


def main():
    year, expressions = int(sys.argv[1]), sys.argv[2:]
    seen = set()
    for name in sorted(available_timezones()):
        zone = ZoneInfo(name)
        jumps = tuple((moment, jump, wall(zone, moment) - moment) for moment, jump in changes(zone, year))
        if not jumps or jumps in seen:
            continue
        seen.add(jumps)
        for moment, *_ in jumps:
            start, end = moment - DAY, moment + DAY
            stamp = lambda at: int((at - EPOCH).total_seconds())
            clock = shown(zone, start, end)
            hours = [start + HOUR * n for n in range(49)]
            print(json.dumps({
                "zone": name,
                "start": stamp(start),
                "end": stamp(end),
                "offsets": [int((wall(zone, at) - at).total_seconds() // 60) for at in hours],
                "due": {each: [stamp(at) for at in due(clock, each, start, end)] for each in expressions},
            }))


main()
