"""Says when windows of rollouts are open around each change of clocks, by the rule of docs/contract/rollouts.md.

Written from that page, with Python's own time zones: argument 1 is a year, the others are windows without their zone.
Prints one JSON object per change: a zone, its offsets hour by hour in minutes, and the spans in which windows are open.
"""

import json
import sys

from clocks import DAY, MINUTE, offsets, patterns, stamp, wall

NAMES = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
DAY_MINUTES = 24 * 60
WEEK_MINUTES = 7 * DAY_MINUTES


def minute_of_day(text):
    """Returns the minutes from midnight to a time."""
    hours, _, minutes = text.partition(":")
    return int(hours) * 60 + int(minutes)


def open_minutes(window):
    """Returns the minutes of a clock's week in which a window is open."""
    days, _, hours = window.partition(" ")
    start, end = [minute_of_day(time) for time in hours.split("-")]
    length = end - start if end > start else end - start + DAY_MINUTES
    found = set()
    for part in days.split(","):
        first, _, last = part.partition("-")
        first, last = NAMES.index(first), NAMES.index(last or first)
        for day in range(first, first + (last - first) % 7 + 1):
            found.update((day * DAY_MINUTES + start + n) % WEEK_MINUTES for n in range(length))
    return found


def spans(shown, minutes):
    """Returns the spans of places in a list of shown minutes in which these are among the given ones."""
    found = []
    for place, minute in enumerate(shown):
        if minute in minutes:
            if found and found[-1][1] == place:
                found[-1][1] = place + 1
            else:
                found.append([place, place + 1])
    return found


def main():
    year, windows = int(sys.argv[1]), {window: open_minutes(window) for window in sys.argv[2:]}
    for name, zone, moments in patterns(year):
        for moment in moments:
            start, end = moment - DAY, moment + 2 * DAY
            clocks = [wall(zone, start + MINUTE * n) for n in range((end - start) // MINUTE)]
            shown = [(at.weekday() * 24 + at.hour) * 60 + at.minute for at in clocks]
            print(json.dumps({
                "zone": name,
                "start": stamp(start),
                "end": stamp(end),
                "offsets": offsets(zone, start, end),
                "open": {
                    window: [[stamp(start + MINUTE * place) for place in span] for span in spans(shown, minutes)]
                    for window, minutes in windows.items()
                },
            }))


main()
