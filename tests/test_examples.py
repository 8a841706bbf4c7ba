"""The example servers: each does what its tools say, and `examples/mcp.json` puts them all behind one gateway."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, TextContent
from tests.pages_support import ROOT

from hikidashi.gateway import Gateway, GatewayMCPServer, GatewayOptions
from hikidashi.gateway.config import read_servers
from hikidashi.search import McpServer

EXAMPLES = ROOT / "examples"
TOOLS = {"calendar": 14, "tasks": 14, "expenses": 12, "company": 1_000}


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@asynccontextmanager
async def behind_the_gateway(name: str) -> AsyncGenerator[Any]:
    """A function that calls a tool of one example server, through a gateway."""
    server = McpServer(
        name=name, transport="stdio", command=sys.executable, args=(str(EXAMPLES / f"{name}_server.py"),)
    )
    options = GatewayOptions(names="plain", search="off")
    async with Gateway([server], options=options) as gateway, Client(GatewayMCPServer(gateway)) as client:
        described = {tool.name: tool.description or "" for tool in (await client.list_tools()).tools}
        assert len(set(described.values())) == TOOLS[name]
        assert [tool for tool in described if not re.fullmatch(r"[a-z]+(_[a-z]+)+", tool)] == []

        async def call(tool: str, *, fails: bool = False, **arguments: Any) -> Any:
            result = await client.call_tool(tool, arguments)
            assert result.is_error is fails, text_of(result)
            if (given := result.structured_content) is None:
                return text_of(result)
            return given["result"] if set(given) == {"result"} else given

        yield call


async def test_a_calendar_is_planned_moved_and_exported() -> None:
    day = date.today() + timedelta(days=30)  # noqa: DTZ011 - the server has the same local day
    async with behind_the_gateway("calendar") as call:
        (dentist,) = await call("find_events", text="dentist")
        moved = await call("move_event", event_id=dentist["id"], start=f"{day}T10:00")
        meeting = await call("create_event", title="Plan", start=f"{day}T14:00:00Z", minutes=30, place="Room 1")
        await call("cancel_event", event_id=meeting["id"])
        dinner = await call("create_event", title="Dinner", start=f"{day}T19:00", minutes=90)
        guests = (await call("invite_guest", event_id=dinner["id"], person="Yuki"))["guests"]
        unknown = await call("remove_guest", event_id=dinner["id"], person="Sato", fails=True)
        gone = await call("get_event", event_id=meeting["id"], fails=True)

        assert moved["start"] == f"{day}T10:00:00"
        assert [event["title"] for event in await call("list_events", day=str(day))] == ["Dentist", "Dinner"]
        assert await call("find_free_time", day=str(day), minutes=60) == ["09:00-10:00", "10:45-18:00"]
        assert (await call("set_reminder", event_id=dinner["id"], minutes_before=15))["reminder_minutes"] == 15
        assert guests == ["Yuki"]
        assert "Sato is not invited to 'Dinner'. Guests: Yuki." in unknown
        assert f"There is no event {meeting['id']}. find_events shows the ids." in gone
        assert (await call("export_calendar")).count("BEGIN:VEVENT") == 4
        assert (await call("next_event"))["title"] == "Team meeting"


async def test_tasks_are_done_and_notes_are_searched() -> None:
    async with behind_the_gateway("tasks") as call:
        (late,) = await call("overdue_tasks")
        task = await call("add_task", title="Call Meyer", priority="high")
        await call("complete_task", task_id=late["id"])
        note = await call("write_note", title="Kyoto", text="The train leaves at nine.")
        await call("append_to_note", note_id=note["id"], text="Seats on the right.")
        await call("delete_task", task_id=(await call("find_tasks", text="passport"))[0]["id"])

        assert late["title"] == "Water the plants"
        assert await call("list_tasks") == [task]
        assert [found["title"] for found in await call("search_notes", text="SEATS")] == ["Kyoto"]
        assert (await call("list_notes"))[str(note["id"])] == "Kyoto"
        assert "There is no task 99" in await call("complete_task", task_id=99, fails=True)
        assert "There is no note 99" in await call("read_note", note_id=99, fails=True)
        assert "priority" in await call("set_priority", task_id=task["id"], priority="urgent", fails=True)


async def test_expenses_are_added_up_shared_and_held_against_a_budget() -> None:
    async with behind_the_gateway("expenses") as call:
        before = await call("spending_by_category")
        lunch = await call("add_expense", amount=3_000, what="Noodles", category="food")
        await call("correct_expense", expense_id=lunch["id"], amount=3_600)
        share = await call("split_expense", expense_id=lunch["id"], people=3)
        await call("set_budget", category="food", amount=10_000)

        assert (await call("spending_by_category"))["food"] == before["food"] + 3_600
        assert (await call("check_budgets"))["food"] == 10_000 - before["food"] - 3_600
        assert share == "Noodles: 1,200 yen each."
        assert await call("who_owes_me") == {"Noodles": 2_400}
        assert [one["what"] for one in await call("biggest_expenses", limit=1)] == ["Train to Kyoto"]
        assert (await call("export_expenses")).splitlines()[0] == "id,day,amount,category,what,shared_by"
        assert "give a number above 0" in await call("add_expense", amount=0, what="air", category="fun", fails=True)
        assert await call("delete_expense", expense_id=lunch["id"]) == "Deleted: Noodles."
        assert await call("list_expenses", month="1999-12") == []


async def test_the_thousand_tools_of_a_company_work_on_its_records() -> None:
    async with behind_the_gateway("company") as call:
        made = json.loads(await call("hr_create_leave_request", person="Sato", from_date="12-24", to_date="12-28"))
        await call("hr_update_leave_request", id=made["id"], to_date="12-30")

        assert json.loads(await call("hr_find_leave_request", person="sat")) == [{**made, "to_date": "12-30"}]
        assert json.loads(await call("hr_find_leave_request", person="Meyer")) == []
        assert await call("hr_export_leave_request") == "id,person,from_date,to_date\r\n1,Sato,12-24,12-30\r\n"
        assert "needs to_date" in await call("hr_create_leave_request", person="Sato", from_date="1", fails=True)
        assert "has no color" in await call("hr_find_leave_request", color="red", fails=True)
        assert json.loads(await call("hr_delete_leave_request", id=made["id"]))["deleted"]["person"] == "Sato"
        assert "There is no hr_leave_request 1. Ids: none." in await call("hr_delete_leave_request", id=1, fails=True)


async def test_one_config_puts_them_all_behind_one_server_wherever_it_is_started(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    environment |= {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")}
    environment["HIKIDASHI_RANKER"] = ""  # by meaning, too
    arguments = ["serve", "--config", str(EXAMPLES / "mcp.json"), "--yes", "--no-daemon"]
    started = StdioServerParameters(command="hikidashi", args=arguments, env=environment, cwd=tmp_path)
    first: dict[str, str] = {}
    async with Client(started) as client:
        listed = {tool.name: tool.description or "" for tool in (await client.list_tools()).tools}
        for question in (
            "move the dentist to Friday at ten",
            "会議室の予約を取り消したい",
            "how much did we spend on food",
            "今月は食費にいくら使った?",
            "歯医者の30分前に知らせて",
            "割り勘にしたい",
        ):
            found = text_of(await client.call_tool("search_tools", {"query": question}))
            first[question] = json.loads(found.splitlines()[1])["name"]
        read = await client.call_tool("call_read_tool", {"name": "expenses__check_budgets", "arguments": {}})

    assert set(listed) == {"search_tools", "call_read_tool", "call_tool", "read_result"}
    assert list(first.values()) == [
        "calendar__move_event",
        "company__facilities_delete_meeting_room_booking",
        "expenses__spending_by_category",
        "expenses__spending_by_category",
        "calendar__set_reminder",
        "expenses__split_expense",
    ]
    assert read.structured_content == {"food": 31_580, "fun": 15_000}
    assert all(f"{name} ({count} tools)" in listed["search_tools"] for name, count in TOOLS.items())


def test_an_installed_package_has_the_examples(tmp_path: Path) -> None:
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    with zipfile.ZipFile(tmp_path / done.stdout.split()[-1]) as wheel:
        packed = {name for name in wheel.namelist() if name.startswith("hikidashi/examples/")}
    assert packed == {f"hikidashi/examples/{name}" for name in ("mcp.json", *(f"{one}_server.py" for one in TOOLS))}


def test_a_server_runs_in_the_folder_of_its_config_and_may_stand_in_two(tmp_path: Path) -> None:
    written: list[Path] = []
    for folder, cwd in (("one", {}), ("two", {}), ("three", {"cwd": "sub"})):
        (tmp_path / folder).mkdir()
        written.append(tmp_path / folder / "mcp.json")
        entries = {"notes": {"command": "notes", **cwd}, "web": {"url": "https://example.com/mcp"}}
        written[-1].write_text(json.dumps({"mcpServers": entries}))

    assert [one.server.cwd for one in read_servers(written[:2])] == [str(tmp_path / "one"), None]
    assert [one.server.cwd for one in read_servers(written[2:])] == [str(tmp_path / "three" / "sub"), None]
