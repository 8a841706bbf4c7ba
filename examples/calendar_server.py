"""An example MCP server: a calendar, kept in memory and with a few events of the coming days in it.

python examples/calendar_server.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from itertools import count

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

READS = ToolAnnotations(read_only_hint=True)
DELETES = ToolAnnotations(destructive_hint=True)
FIRST_HOUR, LAST_HOUR = time(9), time(18)

server = MCPServer("calendar", instructions="Appointments and meetings: look them up, plan, move and cancel them.")


@dataclass
class Event:
    """Something that takes place at a time."""

    id: int
    title: str
    start: datetime
    minutes: int
    place: str = ""
    guests: list[str] = field(default_factory=list[str])
    reminder_minutes: int | None = None

    @property
    def end(self) -> datetime:
        """When it is over."""
        return self.start + timedelta(minutes=self.minutes)


numbers = count(1)
events: dict[int, Event] = {}


def add(title: str, start: datetime, minutes: int, place: str = "", *guests: str) -> Event:
    """A new event in the calendar."""
    event = Event(next(numbers), title, local(start), minutes, place, list(guests))
    events[event.id] = event
    return event


def known(event_id: int) -> Event:
    """The event with this number."""
    if event_id not in events:
        raise ToolError(f"There is no event {event_id}. find_events shows the ids.")
    return events[event_id]


def in_order() -> list[Event]:
    """All events, the earliest first."""
    return sorted(events.values(), key=lambda event: event.start)


def local(moment: datetime) -> datetime:
    """The local time, without a time zone."""
    return moment.astimezone().replace(tzinfo=None)


def now() -> datetime:
    """The current local time."""
    return local(datetime.now().astimezone())


@server.tool(annotations=READS)
def list_events(day: date) -> list[Event]:
    """List the events of one day."""
    return [event for event in in_order() if event.start.date() == day]


@server.tool(annotations=READS)
def find_events(text: str) -> list[Event]:
    """Find events by a word of their title, place or guests."""
    wanted = text.casefold()
    return [event for event in in_order() if wanted in f"{event.title} {event.place} {event.guests}".casefold()]


@server.tool(annotations=READS)
def next_event() -> Event:
    """The next appointment that has not begun yet."""
    coming = [event for event in in_order() if event.start > now()]
    if not coming:
        raise ToolError("Nothing more is planned.")
    return coming[0]


@server.tool(annotations=READS)
def get_event(event_id: int) -> Event:
    """All details of one event."""
    return known(event_id)


@server.tool(annotations=READS)
def find_free_time(day: date, minutes: int = 60) -> list[str]:
    """When one is free on a day for at least so many minutes, between 9:00 and 18:00."""
    free: list[str] = []
    begin, closing = datetime.combine(day, FIRST_HOUR), datetime.combine(day, LAST_HOUR)
    for event in [*list_events(day), Event(0, "closing", closing, 0)]:
        until = min(event.start, closing)
        if until - begin >= timedelta(minutes=minutes):
            free.append(f"{begin:%H:%M}-{until:%H:%M}")
        begin = max(begin, event.end)
    return free


@server.tool(annotations=READS)
def export_calendar() -> str:
    """The whole calendar as an iCalendar (.ics) file."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//hikidashi//example//EN"]
    for event in in_order():
        lines += ["BEGIN:VEVENT", f"UID:{event.id}@example.com", f"DTSTART:{event.start:%Y%m%dT%H%M%S}"]
        lines += [f"DTEND:{event.end:%Y%m%dT%H%M%S}", f"SUMMARY:{event.title}", "END:VEVENT"]
    return "\r\n".join([*lines, "END:VCALENDAR", ""])


@server.tool()
def create_event(title: str, start: datetime, minutes: int = 60, place: str = "") -> Event:
    """Put a new event or meeting into the calendar."""
    return add(title, start, minutes, place)


@server.tool()
def move_event(event_id: int, start: datetime) -> Event:
    """Move an appointment to another day or time."""
    known(event_id).start = local(start)
    return known(event_id)


@server.tool()
def change_duration(event_id: int, minutes: int) -> Event:
    """Make an event longer or shorter."""
    known(event_id).minutes = minutes
    return known(event_id)


@server.tool()
def change_place(event_id: int, place: str) -> Event:
    """Change where an event takes place."""
    known(event_id).place = place
    return known(event_id)


@server.tool()
def set_reminder(event_id: int, minutes_before: int) -> Event:
    """Be reminded some minutes before an event begins."""
    known(event_id).reminder_minutes = minutes_before
    return known(event_id)


@server.tool()
def invite_guest(event_id: int, person: str) -> Event:
    """Invite a person to a meeting."""
    event = known(event_id)
    if person not in event.guests:
        event.guests.append(person)
    return event


@server.tool(annotations=DELETES)
def remove_guest(event_id: int, person: str) -> Event:
    """Take a person off the guests of a meeting."""
    event = known(event_id)
    if person not in event.guests:
        raise ToolError(f"{person} is not invited to {event.title!r}. Guests: {', '.join(event.guests) or 'none'}.")
    event.guests.remove(person)
    return event


@server.tool(annotations=DELETES)
def cancel_event(event_id: int) -> str:
    """Cancel an event and take it out of the calendar."""
    return f"Cancelled: {events.pop(known(event_id).id).title}."


today = now().date()
add("Team meeting", datetime.combine(today + timedelta(days=1), time(9, 30)), 30, "Room 2", "Sato", "Meyer")
add("Dentist", datetime.combine(today + timedelta(days=1), time(15)), 45, "Dr. Mori")
add("Dinner with Yuki", datetime.combine(today + timedelta(days=3), time(19)), 120, "Nishiki")

if __name__ == "__main__":
    server.run()
