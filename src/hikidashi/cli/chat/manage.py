"""Commands on saved conversations: find one by its name, list all, delete one."""

from __future__ import annotations

import json
from datetime import datetime

import typer
from rich.text import Text

from hikidashi.common.files import state_folder

from ..output import Language, cut, stdout
from .conversations import ConversationStore, SavedConversation
from .words import WORDS

__all__ = ["delete_conversation", "find_conversation", "list_conversations", "saved_conversations"]

_MOST_NAMED = 5


def saved_conversations() -> ConversationStore:
    """The saved conversations of this user, and the one that an earlier version saved."""
    folder = state_folder()
    conversations = ConversationStore(folder / "chats")
    conversations.import_file(folder / "chat.jsonl")
    return conversations


def find_conversation(conversations: ConversationStore, name: str, *, hint: str) -> SavedConversation:
    """The conversation whose name is, or starts with, `name`.

    Raises:
        typer.BadParameter: there is none, or more than one.
    """
    found = conversations.matching(name)
    if len(found) == 1:
        return found[0]
    if not found:
        raise typer.BadParameter(
            f"there is no conversation {name!r}. `hikidashi chat --list` shows all.", param_hint=hint
        )
    names = ", ".join(one.name for one in found[:_MOST_NAMED])
    raise typer.BadParameter(f"{name!r} may be any of {len(found)}: {names}. Write more of it.", param_hint=hint)


def list_conversations(language: Language, *, as_json: bool) -> None:
    """Print the conversations, newest first; as JSON, one object a line."""
    console, kept = stdout(), saved_conversations().all()
    for one in kept:
        messages = one.read()
        used = datetime.fromtimestamp(one.used).astimezone()
        if as_json:
            about = {"name": one.name, "used": used.isoformat(timespec="seconds"), "messages": len(messages)}
            about["first"] = messages[0].text if messages else ""
            typer.echo(json.dumps(about, ensure_ascii=False))
            continue
        line = Text.assemble((f"{used:%Y-%m-%d %H:%M}  ", "dim"), (one.name, "bold"), "  ")
        first = cut(messages[0].text, max(10, console.width - line.cell_len)) if messages else ""
        console.print(line + Text(first, "dim"), no_wrap=True)
    if not kept and not as_json:
        console.print(Text(WORDS[language].no_conversations))


def delete_conversation(name: str, language: Language) -> None:
    """Delete the conversation `name`.

    Raises:
        typer.BadParameter: there is none, or more than one.
    """
    found = find_conversation(saved_conversations(), name, hint="--delete")
    found.path.unlink(missing_ok=True)
    stdout().print(Text(WORDS[language].deleted.format(name=found.name)))
