"""Says when five-field cron expressions are due around each change of clocks, by the rule of docs/runtime.md.

Written from that page, with Python's own time zones: argument 1 is a year, the others are expressions with `*` as days.
Prints one JSON object per pattern of changes: a zone, its offsets hour by hour in minutes, and the due minutes.
"""

import json
import sys

from clocks import DAY, MINUTE, offsets, patterns, stamp, wall


def values(field, top):
    """Returns the numbers that a field names."""
    found = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = (f"0-{top - 1}" if span == "*" else span).partition("-")
        found.update(range(int(first), int(last or first) + 1, int(step or 1)))
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
    for name, zone, moments in patterns(year):
        for moment in moments:
            start, end = moment - DAY, moment + DAY
            clock = shown(zone, start, end)
            print(json.dumps({
                "zone": name,
                "start": stamp(start),
                "end": stamp(end),
                "offsets": offsets(zone, start, end),
                "due": {each: [stamp(at) for at in due(clock, each, start, end)] for each in expressions},
            }))


main()
