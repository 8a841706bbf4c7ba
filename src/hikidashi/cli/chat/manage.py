"""The conversations that are kept, as commands see them: one by its name, all in a list, one deleted."""

from __future__ import annotations

import json
from datetime import datetime

import typer
from rich.text import Text

from hikidashi.common.folders import state_folder

from ..output import Language, stdout
from ..tools.text import cut
from .conversations import Conversations, Kept
from .words import WORDS

__all__ = ["conversation_named", "delete_conversation", "kept_conversations", "list_conversations"]

_MOST_NAMED = 5


def kept_conversations() -> Conversations:
    """The conversations of this user; the one of a chat that kept only its last is among them."""
    folder = state_folder()
    conversations = Conversations(folder / "chats")
    conversations.adopt(folder / "chat.jsonl")
    return conversations


def conversation_named(conversations: Conversations, name: str, *, hint: str) -> Kept:
    """The conversation that `name`, or its beginning, means.

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
    """Prints the conversations, the newest first; as JSON, one object a line."""
    console, kept = stdout(), kept_conversations().all()
    for one in kept:
        said = one.read()
        used = datetime.fromtimestamp(one.used).astimezone()
        if as_json:
            about = {"name": one.name, "used": used.isoformat(timespec="seconds"), "messages": len(said)}
            about["first"] = said[0].text if said else ""
            typer.echo(json.dumps(about, ensure_ascii=False))
            continue
        line = Text.assemble((f"{used:%Y-%m-%d %H:%M}  ", "dim"), (one.name, "bold"), "  ")
        first = cut(said[0].text, max(10, console.width - line.cell_len)) if said else ""
        console.print(line + Text(first, "dim"), no_wrap=True)
    if not kept and not as_json:
        console.print(Text(WORDS[language].no_conversations))


def delete_conversation(name: str, language: Language) -> None:
    """Removes the conversation that `name` means, for good.

    Raises:
        typer.BadParameter: there is none, or more than one.
    """
    found = conversation_named(kept_conversations(), name, hint="--delete")
    found.path.unlink(missing_ok=True)
    stdout().print(Text(WORDS[language].deleted.format(name=found.name)))
