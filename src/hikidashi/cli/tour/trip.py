"""The agent of the tour: three tools for a weekend in Kyoto, with made-up data, and a diary as their deps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic_ai import Agent, ModelRetry, RunContext

__all__ = ["Diary", "Trip"]


@dataclass
class Diary:
    """The deps of the tools, which write to it."""

    entries: list[str] = field(default_factory=list[str])


class Trip:
    """The places and days of the trip in one language, the diary, and the agent that plans it."""

    def __init__(self, text: Callable[[str, str], str]) -> None:
        self.diary = Diary()
        self.origin, self.city, self.place = text("Tokyo", "東京"), text("Kyoto", "京都"), text("Nishiki", "錦")
        self.saturday, self.sunday = text("Saturday", "土曜"), text("Sunday", "日曜")
        forecasts: dict[str, dict[str, str | int]] = {
            self.saturday: {"sky": text("rain from three", "15時から雨"), "high": 17},
            self.sunday: {"sky": text("clear all day", "一日じゅう晴れ"), "high": 21},
        }
        timetable = [
            {"name": text("Nozomi 13", "のぞみ13号"), "departs": "08:42", "arrives": "10:56"},
            {"name": text("Nozomi 19", "のぞみ19号"), "departs": "09:12", "arrives": "11:27"},
        ]
        free_times = {self.saturday: ["18:30", "20:00"], self.sunday: ["12:00", "13:30"]}

        def weather(city: str, day: str) -> dict[str, str | int]:
            return forecasts[day]

        def trains(origin: str, destination: str, after: str) -> list[dict[str, str]]:
            return [train for train in timetable if train["departs"] >= after]

        def book_table(ctx: RunContext[Diary], place: str, day: str, time: str, people: int) -> str:
            if time not in free_times[day]:
                free = ", ".join(free_times[day])
                raise ModelRetry(text(f"Full at {time}. Free: {free}.", f"{time}は満席です。空き: {free}"))
            entry = text(f"{day} {time}, {place}, table for {people}", f"{day} {time} {place} {people}名")
            ctx.deps.entries.append(entry)
            return text(f"Booked: {entry}.", f"予約しました: {entry}")

        weather.__doc__ = text("The forecast for a city on a day.", "都市と曜日から天気予報を返す。")
        trains.__doc__ = text("Trains between two cities that leave after a time.", "指定時刻より後の、都市間の列車。")
        book_table.__doc__ = text("Book a table, and write it in the diary.", "席を予約し、手帳に書き込む。")
        self.agent = Agent(
            deps_type=Diary,
            instructions=text("You plan short trips. Be brief.", "小さな旅の計画を手伝います。手短に答えてください。"),
            tools=[weather, trains, book_table],
        )
