"""Finding the text of a page: how much of it, how quickly, and how pages made to hurt a parser end.

F1 compares the words (in Japanese, the characters) that came out with those of the gold text; it stands in the notes,
because higher is better there. Ours and the peers run in this process, one more row goes through the worker process.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from importlib import import_module
from time import perf_counter
from typing import Any

from hikidashi.errors import PageError
from hikidashi.web.pages.extract import Extractor
from hikidashi.web.pages.html import html_text

from ..registry import Case, Measurement, Plan, Sample
from ..timing import seconds
from .extraction_pages import HOSTILE, PAGES, GoldPage

GROUP = "extraction"
MEANING = "the text of a page ÷ readability-lxml; F1 against gold text in the notes"

READABILITY = "readability-lxml"
DEADLINE = 10.0
"""Seconds: the 5 of a page before its process is killed, and as many for the two ways that are quicker."""

Extract = Callable[[str], str]

_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")


def f1(found: str, gold: str) -> float:
    """How well the words of `found` match those of `gold`, from 0 to 1."""
    ours, theirs = Counter(_TOKEN.findall(found)), Counter(_TOKEN.findall(gold))
    common = (ours & theirs).total()
    return 2 * common / (ours.total() + theirs.total())


def ours(html: str) -> str:
    """The text as the worker process finds it."""
    return html_text(html) or ""


def peers() -> dict[str, Extract]:
    """The peers that are installed."""
    found: dict[str, Extract] = {}
    with suppress(ImportError):
        document: Any = import_module("readability").Document
        parse: Any = import_module("lxml.html").fromstring

        def readable(html: str) -> str:
            article = document(html)
            return f"{article.short_title()}\n{parse(article.summary()).text_content()}"

        found[READABILITY] = readable
    with suppress(ImportError):
        found["markdownify"] = partial(import_module("markdownify").markdownify, heading_style="ATX")
    return found


def _scores(pages: Iterable[GoldPage], contestants: dict[str, Extract]) -> str:
    means = {name: [f1(extract(page.html), page.gold) for page in pages] for name, extract in contestants.items()}
    return "F1 " + ", ".join(f"{name} {sum(values) / len(values):.2f}" for name, values in means.items())


def _pages(plan: Plan, pages: tuple[GoldPage, ...], name: str) -> Iterable[Measurement]:
    others = peers()
    contestants: dict[str, Extract] = {"ours": ours, **others}
    figures = plan.alternate(
        {
            contestant: seconds(lambda extract=extract: [extract(page.html) for page in pages])
            for contestant, extract in contestants.items()
        },
        plan.rounds(15),
    )
    per_page = {who: Sample(tuple(value / len(pages) for value in sample.values)) for who, sample in figures.items()}
    for peer in others or ("",):
        yield Measurement(
            group=GROUP,
            name=name,
            unit="s",
            ours=per_page["ours"],
            peer=per_page.get(peer),
            peer_name=peer,
            note=_scores(pages, contestants) if peer in {READABILITY, ""} else "",
        )


def _through_the_worker(plan: Plan) -> Iterable[Measurement]:
    extractor = Extractor(processes=1)
    bodies = [page.html.encode() for page in PAGES]

    async def all_pages() -> None:
        for body in bodies:
            await extractor.read(body, content_type="text/html")

    try:
        with asyncio.Runner() as runner:
            figures = plan.alternate(
                {
                    "worker": seconds(lambda: runner.run(all_pages())),
                    "here": seconds(lambda: [ours(page.html) for page in PAGES]),
                },
                plan.rounds(15),
            )
    finally:
        extractor.close()
    per_page = {who: Sample(tuple(value / len(PAGES) for value in sample.values)) for who, sample in figures.items()}
    yield Measurement(
        group=GROUP,
        name="a page through the worker process",
        unit="s",
        ours=per_page["worker"],
        peer=per_page["here"],
        peer_name="in this process, where nothing can stop it",
    )


def _hostile(plan: Plan, kind: str) -> Iterable[Measurement]:
    count = 20_000 if plan.quick else 200_000
    body = HOSTILE[kind](count).encode()
    extractor = Extractor(processes=1)

    async def read() -> tuple[float, str]:
        await extractor.read(b"warm", content_type="text/plain")
        start = perf_counter()
        try:
            page = await extractor.read(body, content_type="text/html")
            came = f"{len(page.raw_content):,} characters"
        except PageError as error:
            came = error.reason
        return perf_counter() - start, came

    try:
        spent, came = asyncio.run(read())
    finally:
        extractor.close()
    size = f"{len(body) / 1e6:.1f} MB"
    yield Measurement(
        group=GROUP, name=f"hostile: {kind}", unit="s", ours=Sample((spent,)), aim=DEADLINE, note=f"{size}, gave {came}"
    )


CASES = (
    *(Case(GROUP, page.name, partial(_pages, pages=(page,), name=page.name)) for page in PAGES),
    Case(GROUP, "all pages", partial(_pages, pages=PAGES, name="all pages")),
    Case(GROUP, "through the worker process", _through_the_worker),
    *(Case(GROUP, f"hostile: {kind}", partial(_hostile, kind=kind)) for kind in HOSTILE),
)
