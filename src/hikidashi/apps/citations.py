"""Numbered citations: the sources an answer uses, out of those the tools returned."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from .responder import AnswerEvent, ToolReturned

_MOST_SOURCES = 5_000
_LONGEST_TITLE = 100
_LONGEST_REMARK = 200

_URL = r"https?://[^\s<>\"'`|\u3000-\u303f\uff00-\uff0f]{1,2000}"
_BARE = re.compile(_URL)
# A hit of either format: `1. **Title**` or `### 1. Title`, and its address on the next line.
_HIT = re.compile(rf"^[ \t]*(?:#+ )?(\d{{1,3}})\. (.{{0,500}})\n[ \t]*URL: ({_URL})", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_CITED = re.compile(
    rf"""
      (?P<ticks>`+)[^\n]{{1,1000}}?(?<!`)(?P=ticks)(?!`)
    | !?\[(?P<label>(?:[^\[\]\n]|\[[^\[\]\n]{{0,200}}\]){{0,500}})\]
        \(<?(?P<target>https?://[^\s()<>]{{1,2000}}(?:\([^\s()<>]{{0,200}}\)[^\s()<>]{{0,200}})?)>?
        (?:[ \t]+"[^"\n]{{0,200}}")?\)
    | <(?P<auto>https?://[^\s<>|]{{1,2000}})>
    | (?P<bare>{_URL})
    | (?<![\w\]])\[(?P<mark>\d{{1,3}})\](?![(:\w])
    """,
    re.VERBOSE,
)
_HEADING = re.compile(
    r"\W*(?:sources?|references?|citations?|出典|出所|情報源|参照|参考(?:文献|資料|リンク|url|サイト)?)\W*",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^[ \t]*(?:[-*+•][ \t]+|\d{1,3}[.)][ \t]+)?(?:\[(\d{1,3})\]:?[ \t]*)?(.*)$")


@dataclass(frozen=True, slots=True)
class CitedPage:
    """A page that an answer cites."""

    number: int
    url: str
    title: str = ""


class FoundSources:
    """The addresses and titles that the tools returned."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}
        self._numbered: list[dict[int, str]] = []

    def take(self, event: AnswerEvent) -> None:
        """Add the addresses in the result of a tool; failed tools are ignored."""
        if not isinstance(event, ToolReturned) or not event.ok:
            return
        hits = {int(number): (_trimmed(url), title) for number, title, url in _HIT.findall(event.text)}
        for url, title in hits.values():
            self._add(url, _plain(title))
        for found in _BARE.findall(event.text):
            self._add(_trimmed(found), "")
        if hits:
            self._numbered.append({number: url for number, (url, _) in hits.items()})

    def __contains__(self, url: str) -> bool:
        return _key(url) in self._titles

    def title_of(self, url: str) -> str:
        """The title of the page; empty if no tool gave one."""
        return self._titles.get(_key(url), "")

    def numbered(self, number: int) -> str | None:
        """The address of the hit `number`, if only one search numbered its hits."""
        return self._numbered[0].get(number) if len(self._numbered) == 1 else None

    def _add(self, url: str, title: str) -> None:
        key = _key(url)
        if key in self._titles or len(self._titles) < _MOST_SOURCES:
            self._titles[key] = self._titles.get(key) or title


class Citations:
    """Numbers the sources of one answer in the order in which they are cited."""

    def __init__(self, found: FoundSources) -> None:
        self._found = found
        self._numbers: dict[str, CitedPage] = {}
        self._marked: set[int] = set()
        self._heading = ""

    def cited(self, markdown: str) -> str:
        """`markdown` with `[1]` in place of each link to a source; other links, and code, stay as they are.

        A list of sources by the model itself is removed, since `sources` replaces it. Pass the whole answer, or one
        block after the other.
        """
        parts = (text if is_code else self._prose(text) for text, is_code in _segments(markdown))
        return "".join(parts)

    @property
    def sources(self) -> list[CitedPage]:
        """The sources cited so far, by number."""
        sources = dict(self._numbers)
        taken = {source.number for source in sources.values()}
        # A model may cite the hits of a single search by number, without an address.
        for number in self._marked - taken:
            url = self._found.numbered(number)
            if url is not None and _key(url) not in sources:
                sources[_key(url)] = CitedPage(number, url, self._found.title_of(url))
        return sorted(sources.values(), key=lambda source: source.number)

    def _prose(self, text: str) -> str:
        kept: list[str] = []
        for paragraph in re.split(r"(\n[ \t]*\n+)", text):
            if not paragraph.strip():
                kept.append(paragraph)
            elif _HEADING.fullmatch(paragraph):
                self._heading += paragraph  # shown only if something other than a list follows
            elif self._is_list_of_sources(paragraph):
                self._heading = ""
            else:
                heading = f"{self._heading.strip()}\n\n" if self._heading else ""
                self._heading = ""
                # Before an address gets a number: the model's own marks are not to mean another source.
                self._marked |= {int(match["mark"]) for match in _CITED.finditer(paragraph) if match["mark"]}
                kept.append(heading + _CITED.sub(self._replaced, paragraph))
        return "".join(kept)

    def _is_list_of_sources(self, paragraph: str) -> bool:
        """Whether each line is a source, under a heading or with a number; if so, the sources get these numbers."""
        lines = [line for line in paragraph.split("\n") if line.strip()]
        headed = bool(self._heading) or bool(_HEADING.fullmatch(lines[0]))
        items: list[tuple[str, int | None, str]] = []
        for line in lines[1:] if _HEADING.fullmatch(lines[0]) else lines:
            item = _ITEM.match(line)
            number, rest = (item[1], item[2]) if item else (None, line)
            found = [match for match in _CITED.finditer(rest) if not match["mark"]]
            if not (headed or number) or len(found) != 1 or (url := self._source_in(found[0])) is None:
                return False
            around = (rest[: found[0].start()] + rest[found[0].end() :]).strip(" \t-–—:：|()（）")
            if len(around) > _LONGEST_REMARK:
                return False
            items.append((url, int(number) if number else None, found[0]["label"] or around))
        for url, number, title in items:
            self._number(url, _plain(title), number)
        return bool(items)

    def _source_in(self, match: re.Match[str]) -> str | None:
        url = match["target"] or match["auto"] or (_trimmed(match["bare"]) if match["bare"] else None)
        return url if url is not None and url in self._found else None

    def _replaced(self, match: re.Match[str]) -> str:
        if match["mark"]:
            return self._own_mark(int(match["mark"]))
        url = self._source_in(match)
        if url is None or match[0].startswith("!"):
            return match[0]
        label = match["label"] or ""
        says_nothing = not label.strip() or re.fullmatch(r"\[?\d{1,3}\]?|https?://\S+", label.strip())
        title = "" if says_nothing else _plain(label)
        mark = f"[{self._number(url, title)}]"
        if match["bare"]:
            return mark + match["bare"][len(url) :]
        return mark if says_nothing else f"{label} {mark}"

    def _own_mark(self, number: int) -> str:
        """A number that the model wrote: another one where it means a hit, and the number is another source's."""
        url = self._found.numbered(number)
        holder = next((source for source in self._numbers.values() if source.number == number), None)
        if url is None or holder is None or _key(holder.url) == _key(url):
            return f"[{number}]"
        return f"[{self._number(url, '')}]"

    def _means(self, number: int, key: str) -> bool:
        url = self._found.numbered(number)
        return url is not None and _key(url) == key

    def _number(self, url: str, title: str, wanted: int | None = None) -> int:
        key = _key(url)
        if key not in self._numbers:
            taken = {source.number for source in self._numbers.values()}
            hit = next((number for number in sorted(self._marked) if self._means(number, key)), None)
            free = (number for number in (wanted, hit) if number and number not in taken)
            number = next(free, None) or next(n for n in _counting() if n not in taken | self._marked)
            self._numbers[key] = CitedPage(number, url, self._found.title_of(url) or title)
        return self._numbers[key].number


def _counting() -> Iterator[int]:
    number = 1
    while True:
        yield number
        number += 1


def _segments(markdown: str) -> Iterator[tuple[str, bool]]:
    """The parts of the text in order, and whether each is a code block; an unclosed one extends to the end."""
    start = 0
    while opening := _FENCE.search(markdown, start):
        yield markdown[start : opening.start()], False
        closing = re.compile(rf"^ {{0,3}}{re.escape(opening[1])}[`~]*[ \t]*$", re.MULTILINE)
        closed = closing.search(markdown, opening.end())
        end = closed.end() if closed else len(markdown)
        yield markdown[opening.start() : end], True
        start = end
    yield markdown[start:], False


def _trimmed(url: str) -> str:
    """A bare address without the punctuation of the sentence around it."""
    while url:
        unbalanced = url[-1] == ")" and url.count(")") > url.count("(")
        if not unbalanced and url[-1] not in ".,;:!?*_~]}":
            break
        url = url[:-1]
    return url


def _key(url: str) -> str:
    try:
        parts = urlsplit(_trimmed(url))
    except ValueError:
        return url
    return f"{parts.netloc.lower().removeprefix('www.')}{parts.path.rstrip('/')}?{parts.query}"


def _plain(title: str) -> str:
    """A title without Markdown, cut to one line."""
    line = " ".join(re.sub(r"[\[\]<>*`|\\]", " ", title).split())
    return line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 1]}…"
