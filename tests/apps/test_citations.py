"""The sources of an answer, numbered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.apps.citations import Citations, CitedPage, FoundSources
from hikidashi.apps.responder import TextDelta, ToolReturned

DOCS, WIKI, PLAIN = (
    "https://docs.python.example/asyncio",
    "https://en.wikipedia.example/wiki/Python_(language)",
    "https://b.example/x",
)
STRANDS = f"""## Search results: "x"

### Results
1. **Python [asyncio]**
   URL: {DOCS}
   text

2. **Python**
   URL: {WIKI}
   see {PLAIN}."""
SPEC_000 = (
    f"## 検索結果: x\n\n### 1. Python [asyncio]\nURL: {DOCS}\nスコア: 0.90\ntext\n\n### 2. Python\nURL: {WIKI}\n{PLAIN}"
)


def found(*texts: str, ok: bool = True) -> FoundSources:
    sources = FoundSources()
    sources.take(TextDelta(PLAIN))
    for text in texts:
        sources.take(ToolReturned(call_id="1", name="web_search", ok=ok, text=text))
    return sources


@pytest.mark.parametrize(
    ("answer", "shown", "used"),
    [
        (f"Use [asyncio]({DOCS}/#top).", "Use asyncio [1].", [DOCS]),
        (f"Use [asyncio]({DOCS}), {WIKI}, [it]({DOCS}).", "Use asyncio [1], [2], it [1].", [DOCS, WIKI]),
        (f"（{PLAIN}）。<{PLAIN}> ({PLAIN})", "（[1]）。[1] ([1])", [PLAIN]),
        (f"[1]({PLAIN}) [{PLAIN}]({PLAIN})", "[1] [1]", [PLAIN]),
        (f"`{PLAIN}`\n\n```\n{PLAIN}\n```", f"`{PLAIN}`\n\n```\n{PLAIN}\n```", []),
        ("[other](https://o.example) https://o.example", "[other](https://o.example) https://o.example", []),
        (f"![picture]({PLAIN})", f"![picture]({PLAIN})", []),
        (f"Yes.\n\nSources:\n- {DOCS}\n- [P]({WIKI})", "Yes.\n\n", [DOCS, WIKI]),
        (f"はい。\n\n## 参考\n\n1. [x]({PLAIN}) - 良い", "はい。\n\n\n\n", [PLAIN]),
        (f"Yes [1].\n\n[1]: {WIKI}", "Yes [1].\n\n", [WIKI]),
        ("## Sources\n\nThere are none.", "\n\n## Sources\n\nThere are none.", []),
        (f"Links:\n- {DOCS}", "Links:\n- [1]", [DOCS]),
        ("As it says [2].", "As it says [2].", [WIKI]),
    ],
)
@pytest.mark.parametrize("returned", [STRANDS, SPEC_000])
def test_links_to_what_the_tools_returned_become_numbers(
    answer: str, shown: str, used: list[str], returned: str
) -> None:
    citations = Citations(found(returned))
    assert citations.cited(answer) == shown
    assert [source.url.partition("/#")[0] for source in citations.sources] == used


def test_a_source_has_the_title_that_the_tool_gave_it() -> None:
    citations = Citations(found(STRANDS))
    citations.cited(f"{DOCS} [a label]({PLAIN})")
    assert citations.sources == [CitedPage(1, DOCS, "Python asyncio"), CitedPage(2, PLAIN, "a label")]


def test_numbers_stay_the_same_block_by_block() -> None:
    citations = Citations(found(STRANDS))
    assert [citations.cited(block) for block in (f"{WIKI}", "Sources", f"- {DOCS}", f"{WIKI} {DOCS}")] == [
        "[1]",
        "",
        "",
        "[1] [2]",
    ]


def test_what_a_failed_tool_says_is_no_source() -> None:
    assert Citations(found(STRANDS, ok=False)).cited(PLAIN) == PLAIN


def test_of_two_searches_a_bare_number_means_neither() -> None:
    citations = Citations(found(STRANDS, SPEC_000))
    citations.cited("As it says [1].")
    assert citations.sources == []


@given(st.text(alphabet="abc [](){}<>`*_~!#-1.:/\n\"'、", max_size=200), st.lists(st.sampled_from([DOCS, WIKI, PLAIN])))
def test_whatever_stands_around_each_source_is_numbered_once(noise: str, urls: list[str]) -> None:
    citations = Citations(found(STRANDS))
    citations.cited(f"{noise}\n\n" + "\n\n".join(f"word {url} word" for url in urls))
    numbers = [source.number for source in citations.sources]
    assert numbers == sorted(set(numbers))
    if "```" not in noise and "~~~" not in noise:
        assert set(urls) <= {source.url for source in citations.sources}


@pytest.mark.parametrize(
    ("blocks", "shown", "used"),
    [
        ([f"A [1], and {WIKI}."], ["A [1], and [2]."], {1: DOCS, 2: WIKI}),
        ([f"See {WIKI}.", "Then [1]."], ["See [1].", "Then [2]."], {1: WIKI, 2: DOCS}),
        ([f"[P]({WIKI}) [1]", "[2]"], ["P [2] [1]", "[2]"], {1: DOCS, 2: WIKI}),
        ([f"A [7], {PLAIN}."], ["A [7], [1]."], {1: PLAIN}),
        ([f"A [1].\n\n[1] {WIKI}\n[2] {DOCS}"], ["A [1].\n\n"], {1: WIKI, 2: DOCS}),
    ],
)
def test_a_number_that_the_model_wrote_never_means_another_source(
    blocks: list[str], shown: list[str], used: dict[int, str]
) -> None:
    citations = Citations(found(STRANDS))
    assert [citations.cited(block) for block in blocks] == shown
    assert {source.number: source.url for source in citations.sources} == used
