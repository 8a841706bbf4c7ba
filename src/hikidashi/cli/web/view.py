"""Print answers of a provider: Markdown for people, JSON for programs."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ..output import Language, print_text, stderr, stdout

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["print_footer", "print_json", "print_markdown", "shown"]

# Text from the web is untrusted: control characters could move the cursor, or reverse the line.
_UNFIT = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_STYLES = (("### ", "bold cyan"), ("## ", "bold"), ("URL: ", "blue"), ("> ", "italic"), ("---", "dim"))


def print_markdown(text: str) -> None:
    """Print `text`: with colours on a terminal, unchanged elsewhere."""
    console = stdout()
    if not console.is_terminal:
        print(text)  # noqa: T201 - this is the output
        return
    for line in shown(text).split("\n"):
        style = next((style for start, style in _STYLES if line.startswith(start)), "")
        print_text(console, Text(line, style))


def print_json(answer: DataclassInstance | dict[str, Any]) -> None:
    """Print `answer` as one JSON object."""
    value = answer if isinstance(answer, dict) else asdict(answer)
    print(json.dumps(value, ensure_ascii=False, indent=2))  # noqa: T201 - this is the output


def print_footer(
    provider: str, language: Language, *, cached: bool, credits_used: float | None, tokens: int | None = None
) -> None:
    """On a terminal, print the provider and the cost; elsewhere nothing."""
    console = stderr()
    if not (console.is_terminal and stdout().is_terminal):
        return
    if language == "ja":
        parts = [f"提供: {provider}{'（キャッシュ）' if cached else ''}"]
        parts += [f"約{tokens:,}トークン"] if tokens is not None else []
        parts += [f"{credits_used:g}クレジット"] if credits_used else []
    else:
        parts = [f"from {provider}{' (cached)' if cached else ''}"]
        parts += [f"about {tokens:,} tokens"] if tokens is not None else []
        parts += [f"{credits_used:g} credit{'' if credits_used == 1 else 's'}"] if credits_used else []
    console.print(Text(f"\n{' · '.join(parts)}", "dim"))


def shown(text: str) -> str:
    """`text` without control characters other than newlines."""
    return _UNFIT.sub("", text)
