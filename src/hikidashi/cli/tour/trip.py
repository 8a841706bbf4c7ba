"""The agent of the tour: three tools for a weekend in Kyoto, and a diary they write in.

The data is made up, in two languages; a tool knows the places of both.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic_ai import Agent, ModelRetry, RunContext, Tool

from .words import Words

__all__ = ["Diary", "Forecast", "Train", "trip_agent"]


@dataclass
class Diary:
    """The dependencies of the tools: live, and theirs to change."""

    entries: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Forecast:
    """The weather of a day."""

    sky: str
    high: int


@dataclass(frozen=True)
class Train:
    """A train, and when it leaves and arrives."""

    name: str
    departs: str
    arrives: str


_FORECASTS = {
    ("Kyoto", "Saturday"): Forecast("rain from three", 17),
    ("Kyoto", "Sunday"): Forecast("clear all day", 21),
    ("京都", "土曜"): Forecast("15時から雨", 17),
    ("京都", "日曜"): Forecast("一日じゅう晴れ", 21),
}

_TRAINS = {
    ("Tokyo", "Kyoto"): [Train("Nozomi 13", "08:42", "10:56"), Train("Nozomi 19", "09:12", "11:27")],
    ("東京", "京都"): [Train("のぞみ13号", "08:42", "10:56"), Train("のぞみ19号", "09:12", "11:27")],
}

_FREE = {
    ("Nishiki", "Saturday"): ("18:30", "20:00"),
    ("Nishiki", "Sunday"): ("12:00", "13:30"),
    ("錦", "土曜"): ("18:30", "20:00"),
    ("錦", "日曜"): ("12:00", "13:30"),
}


def trip_agent(words: Words) -> Agent[Diary, str]:
    """An agent with the three tools, described in the reader's language, and no model yet."""

    def weather(city: str, day: str) -> Forecast:
        return _FORECASTS[city, day]

    def trains(origin: str, destination: str, after: str) -> list[Train]:
        return [train for train in _TRAINS[origin, destination] if train.departs >= after]

    def book_table(ctx: RunContext[Diary], place: str, day: str, time: str, people: int) -> str:
        free = _FREE[place, day]
        if time not in free:
            raise ModelRetry(words.full.format(place=place, time=time, free=", ".join(free)))
        entry = words.entry.format(place=place, day=day, time=time, people=people)
        ctx.deps.entries.append(entry)
        return words.booked.format(entry=entry)

    return Agent(
        deps_type=Diary,
        instructions=words.instructions,
        tools=[
            Tool(weather, description=words.weather),
            Tool(trains, description=words.trains),
            Tool(book_table, description=words.book_table),
        ],
    )
