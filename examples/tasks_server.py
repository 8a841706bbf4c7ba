"""An example MCP server: a to-do list and notes, kept in memory and with a few of each in it.

python examples/tasks_server.py
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import count
from typing import Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

READS = ToolAnnotations(read_only_hint=True)
DELETES = ToolAnnotations(destructive_hint=True)
Priority = Literal["low", "normal", "high"]

server = MCPServer("tasks", instructions="A to-do list with due dates and priorities, and notes to write and search.")


@dataclass
class Task:
    """Something to do."""

    id: int
    title: str
    due: date | None = None
    priority: Priority = "normal"
    done: bool = False


@dataclass
class Note:
    """A text with a title."""

    id: int
    title: str
    text: str


numbers = count(1)
tasks: dict[int, Task] = {}
notes: dict[int, Note] = {}


def known_task(task_id: int) -> Task:
    """The task with this number."""
    if task_id not in tasks:
        raise ToolError(f"There is no task {task_id}. list_tasks shows the ids.")
    return tasks[task_id]


def known_note(note_id: int) -> Note:
    """The note with this number."""
    if note_id not in notes:
        raise ToolError(f"There is no note {note_id}. list_notes shows the ids.")
    return notes[note_id]


def today() -> date:
    """The local date."""
    return datetime.now().astimezone().date()


@server.tool(annotations=READS)
def list_tasks(include_done: bool = False) -> list[Task]:
    """List what is still to do, the most urgent first."""
    shown = [task for task in tasks.values() if include_done or not task.done]
    return sorted(shown, key=lambda task: (task.due or date.max, task.priority != "high"))


@server.tool(annotations=READS)
def find_tasks(text: str) -> list[Task]:
    """Find to-dos by a word of their title."""
    return [task for task in tasks.values() if text.casefold() in task.title.casefold()]


@server.tool(annotations=READS)
def overdue_tasks() -> list[Task]:
    """Tasks whose due date has passed."""
    return [task for task in list_tasks() if task.due is not None and task.due < today()]


@server.tool()
def add_task(title: str, due: date | None = None, priority: Priority = "normal") -> Task:
    """Add something to the to-do list, to be reminded of it."""
    task = Task(next(numbers), title, due, priority)
    tasks[task.id] = task
    return task


@server.tool()
def complete_task(task_id: int) -> Task:
    """Tick off a task as done."""
    known_task(task_id).done = True
    return known_task(task_id)


@server.tool()
def reopen_task(task_id: int) -> Task:
    """Put a finished task back on the list."""
    known_task(task_id).done = False
    return known_task(task_id)


@server.tool()
def postpone_task(task_id: int, due: date) -> Task:
    """Give a task another due date."""
    known_task(task_id).due = due
    return known_task(task_id)


@server.tool()
def set_priority(task_id: int, priority: Priority) -> Task:
    """Say how important a task is."""
    known_task(task_id).priority = priority
    return known_task(task_id)


@server.tool(annotations=DELETES)
def delete_task(task_id: int) -> str:
    """Remove a task from the list for good."""
    return f"Deleted: {tasks.pop(known_task(task_id).id).title}."


@server.tool(annotations=READS)
def list_notes() -> dict[int, str]:
    """The id and title of every note."""
    return {note.id: note.title for note in notes.values()}


@server.tool(annotations=READS)
def read_note(note_id: int) -> Note:
    """Read one note."""
    return known_note(note_id)


@server.tool(annotations=READS)
def search_notes(text: str) -> list[Note]:
    """Search the notes for a word."""
    return [note for note in notes.values() if text.casefold() in f"{note.title} {note.text}".casefold()]


@server.tool()
def write_note(title: str, text: str) -> Note:
    """Write a new note."""
    note = Note(next(numbers), title, text)
    notes[note.id] = note
    return note


@server.tool()
def append_to_note(note_id: int, text: str) -> Note:
    """Add a paragraph at the end of a note."""
    note = known_note(note_id)
    note.text = f"{note.text}\n\n{text}"
    return note


add_task("Renew the passport", today() + timedelta(days=10), "high")
add_task("Water the plants", today() - timedelta(days=1))
write_note("Wifi at the office", "Network: hikidashi-guest. Ask Sato for the password.")

if __name__ == "__main__":
    server.run()
