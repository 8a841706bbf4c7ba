"""The answer format and error texts of spec 001, and their English translations."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...common.language import Language
from ...common.unicode import well_formed
from ..answers.bounded import short_labels
from ..results import SearchHit, SearchResults

__all__ = ["WORDS", "Words", "cut_hits", "format_answer"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """The texts in one language."""

    search: str
    answer: str
    results: str
    no_query: str
    no_urls: str
    failed: str
    nothing_found: str
    not_extracted: str


WORDS: dict[Language, Words] = {
    "ja": Words(
        search="検索結果",
        answer="回答",
        results="結果",
        no_query="検索クエリを入力してください",
        no_urls="URLを入力してください",
        failed="検索できませんでした",
        nothing_found="検索結果が見つかりませんでした",
        not_extracted="抽出できませんでした",
    ),
    "en": Words(
        search="Search results",
        answer="Answer",
        results="Results",
        no_query="Please enter a search query",
        no_urls="Please enter a URL",
        failed="The search failed",
        nothing_found="No results were found",
        not_extracted="The extraction failed",
    ),
}


def cut_hits(results: SearchResults, max_content_length: int) -> SearchResults:
    """`results` with at most `max_content_length` characters of each content; 0 is unlimited.

    What nobody configures, a server's titles, addresses and answer, has the limits of every tool.
    """
    cut = short_labels(results)
    if not max_content_length:
        return cut
    return replace(cut, results=tuple(replace(hit, content=hit.content[:max_content_length]) for hit in cut.results))


def format_answer(results: SearchResults, *, max_content_length: int = 0, language: Language = "ja") -> str:
    """The answer and the hits; a sentence if there are none.

    The content of each hit is cut after `max_content_length` characters, without an ellipsis; 0 is unlimited.
    """
    words = WORDS[language]
    answer = (results.answer or "").strip()
    if not answer and not results.results:
        return words.nothing_found
    parts = [f'## {words.search}: "{_line(results.query)}"']
    if answer:
        parts.append(f"### {words.answer}\n{answer}")
    if results.results:
        hits = (_hit(number, hit, max_content_length) for number, hit in enumerate(results.results, start=1))
        parts.append(f"### {words.results}\n" + "\n\n".join(hits))
    return well_formed("\n\n".join(parts))


def _hit(number: int, hit: SearchHit, max_content_length: int) -> str:
    content = hit.content[:max_content_length] if max_content_length else hit.content
    # Every line is indented, so that a page cannot forge a further result.
    lines = [f"   {line}" if line.strip() else "" for line in content.splitlines()]
    head = [f"{number}. **{_line(hit.title)}**", f"   URL: {_line(hit.url)}"]
    return "\n".join([*head, *lines])


def _line(text: str) -> str:
    return " ".join(text.split())
