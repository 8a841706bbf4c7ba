"""The answer format and error texts of spec 001, and their English translations."""

from __future__ import annotations

from dataclasses import replace

from ...common.unicode import well_formed
from ...texts import Language, texts
from ..answers.bounded import short_labels
from ..results import SearchHit, SearchResults

__all__ = ["cut_hits", "format_answer"]


def cut_hits(results: SearchResults, max_content_length: int) -> SearchResults:
    """`results` with at most `max_content_length` characters of each content; 0 is unlimited.

    What no one configures, a server's titles, addresses and answer, has the limits of every tool.
    """
    cut = short_labels(results)
    if not max_content_length:
        return cut
    return replace(cut, results=tuple(replace(hit, content=hit.content[:max_content_length]) for hit in cut.results))


def format_answer(results: SearchResults, *, max_content_length: int = 0, language: Language = "ja") -> str:
    """The answer and the hits; a sentence if there are none.

    The content of each hit is cut after `max_content_length` characters, without an ellipsis; 0 is unlimited.
    """
    words = texts("strands", language)
    answer = (results.answer or "").strip()
    if not answer and not results.results:
        return words["nothing_found"]
    parts = [f'## {words["search"]}: "{_line(results.query)}"']
    if answer:
        parts.append(f"### {words['answer']}\n{answer}")
    if results.results:
        hits = (_hit(number, hit, max_content_length) for number, hit in enumerate(results.results, start=1))
        parts.append(f"### {words['results']}\n" + "\n\n".join(hits))
    return well_formed("\n\n".join(parts))


def _hit(number: int, hit: SearchHit, max_content_length: int) -> str:
    content = hit.content[:max_content_length] if max_content_length else hit.content
    # Every line is indented, so that a page cannot forge a further result.
    lines = [f"   {line}" if line.strip() else "" for line in content.splitlines()]
    head = [f"{number}. **{_line(hit.title)}**", f"   URL: {_line(hit.url)}"]
    return "\n".join([*head, *lines])


def _line(text: str) -> str:
    return " ".join(text.split())
