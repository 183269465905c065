"""Clocks of all time zones, by Python's own time zone database."""

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

UTC = timezone.utc
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
EPOCH = datetime(1970, 1, 1)


def stamp(at):
    """Returns a moment as seconds since 1970."""
    return int((at - EPOCH).total_seconds())


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


def patterns(year):
    """Yields one zone, with its name and the moments of its jumps, for each pattern of jumps that zones have in a year."""
    seen = set()
    for name in sorted(available_timezones()):
        zone = ZoneInfo(name)
        jumps = tuple((moment, jump, wall(zone, moment) - moment) for moment, jump in changes(zone, year))
        if jumps and jumps not in seen:
            seen.add(jumps)
            yield name, zone, [moment for moment, *_ in jumps]


def offsets(zone, start, end):
    """Returns the minutes that a zone is ahead of UTC, hour by hour."""
    hours = [start + HOUR * n for n in range((end - start) // HOUR + 1)]
    return [int((wall(zone, at) - at).total_seconds() // 60) for at in hours]
