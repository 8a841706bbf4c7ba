"""The order of what is found: parts of a compound, bare headings, copies, and ranking by meaning."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hikidashi.errors import TavilyAPIError
from hikidashi.search.engine.embeddings import Embedder
from hikidashi.web.local import IngestEvent, LocalIndex, LocalSearchProvider
from hikidashi.web.local.database import NewDocument
from hikidashi.web.passages import Passage, split, title_of

Ingested = Callable[..., Awaitable[list[IngestEvent]]]


def put(index: LocalIndex, **texts: str) -> None:
    with index.writing() as writer:
        for url, text in texts.items():
            writer.put(
                NewDocument(
                    url=url,
                    title=title_of(text, "markdown"),
                    kind="markdown",
                    size=len(text),
                    mtime_ns=1,
                    hash=url.encode(),
                    passages=split(text, "markdown"),
                )
            )
        writer.commit()


def urls(index: LocalIndex, question: str, **options: Any) -> list[str]:
    return [found.url for found in index.search(question, **options)]


def test_a_part_of_a_compound_is_not_the_compound(index: LocalIndex) -> None:
    put(
        index,
        compiler="# コンパイラ\n\n型が確定すると、次の段階へ進みます。",
        guide="# 手引き\n\n内容を確定し、税務署に売上を申告します。別の話もあります。",
        other="# 料理\n\n野菜を切ります。",
    )
    found = index.search("確定申告")
    assert [one.url for one in found] == ["guide"]  # it has both parts, though apart
    assert not found[0].has_every_word
    assert found[0].score < 0.3
    assert urls(index, "確定申告の書類") == []


@pytest.mark.parametrize("question", ["プライベートアドレスへのアクセス", "private addresses xylophone"])
def test_a_word_that_nothing_has_does_not_outweigh_one_that_something_has(index: LocalIndex, question: str) -> None:
    put(
        index,
        guard="# 安全\n\nプライベートアドレスは拒否します。 Private addresses are refused.",
        other="# アクアリウム\n\nプロセスと水。 Something else entirely.",
    )
    assert urls(index, question) == ["guard"]


def test_parts_that_stand_together_are_the_compound(index: LocalIndex) -> None:
    put(
        index,
        together="# 規程\n\n経費の精算は月末までに行います。",
        apart="# 別\n\n精算の話をしたあとで、まったく別の機会に出張の経費について述べます。",
    )
    found = index.search("経費精算")
    assert [(one.url, one.has_every_word) for one in found] == [("together", True), ("apart", False)]
    assert found[0].score > 0.5 > 2 * found[1].score


def test_a_compound_that_is_in_the_index_is_found_whole(index: LocalIndex) -> None:
    put(index, whole="# 税\n\n確定申告は三月です。", part="# 型\n\n型が確定します。")
    assert urls(index, "確定申告") == ["whole"]


def test_what_is_said_about_a_thing_is_better_than_its_bare_heading(index: LocalIndex) -> None:
    put(
        index,
        glossary="# Glossary\n\nTerms of the trade.\n\n## Dovetail\n",
        article="# Dovetail\n\n## In short\n\nA dovetail is a joint whose pins and tails hold two boards together.\n",
        stub="# Dovetail\n",
    )
    found = index.search("what is a dovetail")
    assert found[0].url == "article"
    assert "A dovetail is a joint" in found[0].body
    assert found[0].score > max(one.score for one in found[1:])


def test_of_a_document_whose_title_matches_the_passage_that_says_it_is_given(index: LocalIndex) -> None:
    long = "A dovetail is a joint of two boards. " + "It is cut with a saw and a chisel, and needs patience. " * 5
    put(index, article=f"# Dovetail\n\nSee also.\n\n## Making\n\n{long}\n\n## Short\n\nNo glue.\n")
    (found,) = index.search("dovetail")
    assert found.heading == "Dovetail › Making"


def test_one_long_document_does_not_hide_the_others(index: LocalIndex) -> None:
    long = "\n\n".join(f"## Drawer {number}\n\nThis drawer is a drawer." for number in range(300))
    others = {f"u{n}": f"# Note {n}\n\nAmong many other things of the house there is a drawer." for n in range(12)}
    put(index, manual=f"# Drawer manual\n\n{long}", **others)
    assert set(urls(index, "drawer", limit=20)) == {"manual", *others}


def test_a_heading_without_text_belongs_to_what_follows() -> None:
    assert split("# A\n\n## B\n\nText.\n\n## C\n", "markdown") == [
        Passage("A › B", "# A\n\n## B\n\nText.\n\n"),
        Passage("A › C", "## C\n"),
    ]
    assert split("A\n=\n\nB\n-\n\nText.\n", "rst")[0].body == "A\n=\n\nB\n-\n\nText.\n"


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# tool_execution", "tool_execution"),
        ("# The `__init__` method", "The __init__ method"),
        ("# _emphasis_ and __strong__ and *this*", "emphasis and strong and this"),
        ("# a_b_c [d_e](x_y.md)", "a_b_c d_e"),
        (r"# snake\_case", "snake_case"),
    ],
)
def test_underscores_of_names_stay_in_titles(line: str, title: str) -> None:
    assert title_of(line, "markdown") == title


async def test_the_same_content_is_shown_once_with_its_other_places(
    tmp_path: Path, index: LocalIndex, ingested: Ingested
) -> None:
    for name in ("b.md", "a.md", "c.md"):
        (tmp_path / name).write_text("# Oak\n\nOak drawers are heavy.\n")
    (tmp_path / "pine.md").write_text("# Pine\n\nPine drawers are light.\n")
    await ingested(tmp_path / "a.md", tmp_path / "b.md", tmp_path / "c.md", tmp_path / "pine.md")
    one, other, third = ((tmp_path / name).as_uri() for name in ("a.md", "b.md", "c.md"))
    for passages in (False, True):
        found = index.search("drawers", passages=passages, limit=2)
        assert {hit.url.rpartition("/")[2]: hit.copies for hit in found} == {"a.md": (other, third), "pine.md": ()}
    async with LocalSearchProvider(index.path, language="en") as provider:
        hit = (await provider.search("oak")).results[0]
        assert (hit.url, hit.content) == (
            one,
            f"Oak drawers are heavy. (The same content is at {other}, {third}.)",
        )
        context = await provider.context("oak drawers heavy")
        assert context.sources == (one,) or context.text.count("Oak drawers are heavy.") == 1


def by_letters(words: Sequence[str]) -> Callable[[list[str]], list[list[float]]]:
    """A model that knows a few words, each a direction of its own."""

    def embed(texts: list[str]) -> list[list[float]]:
        return [[float(word in text.lower()) for word in words] + [0.01] for text in texts]

    return embed


async def test_a_hybrid_ranker_also_ranks_by_meaning_and_leaves_japanese_to_words(index: LocalIndex) -> None:
    put(
        index,
        wood="# Wood\n\nA drawer is made of wood. Furniture.",
        file="# File\n\nA drawer is a drawer. Office.",
        ja="# 木\n\n引き出しは木で作ります。",
    )
    asked: list[list[str]] = []
    know = by_letters(["furniture", "office"])

    def embed(texts: list[str]) -> list[list[float]]:
        asked.append(texts)
        return know(["furniture" if text == "drawer" else text for text in texts])

    async with (
        LocalSearchProvider(index.path) as words,
        LocalSearchProvider(index.path, ranker="hybrid", embed=embed) as both,
    ):
        assert [hit.url for hit in (await words.search("drawer")).results] == ["file", "wood"]
        found = (await both.search("drawer")).results
        assert [hit.url for hit in found] == ["wood", "file"]
        assert all(0 <= hit.score <= 1 for hit in found)
        asked.clear()
        assert [hit.url for hit in (await both.search("引き出し")).results] == ["ja"]
        assert asked == []
    knows_all = Embedder(embed=embed, multilingual=True)
    async with LocalSearchProvider(index.path, ranker="hybrid", embed=knows_all) as multilingual:
        put(index, ja2="# 棚\n\n引き出しと棚。")
        await multilingual.search("引き出し")
    assert asked


async def test_the_model_of_the_extra_ranks_passages(index: LocalIndex) -> None:
    fillers = {f"filler{n}": f"# Filler {n}\n\nNothing of note." for n in range(20)}
    put(
        index,
        car="# Garage\n\nA loud motor drives the car on the road.",
        boat="# Harbour\n\nA loud motor drives the boat on the sea.",
        **fillers,
    )
    async with LocalSearchProvider(index.path, ranker="hybrid") as provider:
        assert (await provider.search("a loud motor drives the vessel")).results[0].url == "boat"


@pytest.mark.parametrize("options", [{"ranker": "semantic"}, {"embed": by_letters(["x"])}])
def test_other_rankers_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(TavilyAPIError, match='use "lexical" or "hybrid"'):
        LocalSearchProvider(tmp_path / "web.db", language="en", **options)


@pytest.mark.parametrize(
    "apart", ["型を確定し、申告する。", "型の確定と申告。", "型を確定。申告は別。", "確定\n\n申告"]
)
def test_parts_in_two_clauses_or_side_by_side_are_not_the_compound(index: LocalIndex, apart: str) -> None:
    put(index, compiler=f"# コンパイラ\n\n{apart}", other="# 料理\n\n野菜を切ります。")
    assert [(one.has_every_word, one.score < 0.3) for one in index.search("確定申告")] in ([], [(False, True)])


@pytest.mark.parametrize("joined", ["経費の精算", "経費を毎月精算する", "経費事前精算", "経費精算書"])
def test_parts_that_a_particle_or_another_word_joins_are_the_compound(index: LocalIndex, joined: str) -> None:
    put(index, rules=f"# 規程\n\n{joined}。", apart="# 別\n\n経費と精算。", other="# 料理\n\n野菜を切ります。")
    best = index.search("経費精算")[0]
    assert (best.url, best.has_every_word, best.score > 0.5) == ("rules", True, True)
