"""Patterns mean what they mean in Python, and no pattern takes long."""

from __future__ import annotations

import gc
import re
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from hikidashi.errors import ToolSearchError
from hikidashi.search import ToolCatalog
from hikidashi.search.engine.entry import Entry
from hikidashi.search.engine.patterns import MAX_PATTERN, Pattern, searchable_text

TOOLS = [
    {"name": "weather_forecast", "description": "Forecast for a place"},
    {"name": "get_weather_data", "description": "Weather data of a station"},
    {
        "name": "get_user_data",
        "description": "What is known\nabout a user",
        "input_schema": {"type": "object", "properties": {"user_id": {"description": "Slack member or e-mail"}}},
    },
    {"name": "weather", "description": "Weather now"},
]


@pytest.fixture(scope="module")
def catalog() -> ToolCatalog:
    return ToolCatalog(TOOLS)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("forecast", ["weather_forecast"]),
        ("get_.*_data", ["get_weather_data", "get_user_data"]),
        ("(?i)SLACK", ["get_user_data"]),
        ("SLACK", ["get_user_data"]),
        ("weather", ["weather", "weather_forecast", "get_weather_data"]),
        ("^get_", ["get_weather_data", "get_user_data"]),
        ("_data$", ["get_weather_data", "get_user_data"]),
        (r"\Auser_id\Z", ["get_user_data"]),
        ("known about", ["get_user_data"]),
        ("(?P<kind>user|weather)_data", ["get_weather_data", "get_user_data"]),
        ("(?s)forecast.for", ["weather_forecast"]),
        ("(?x) get_ user  # spaces do not count", ["get_user_data"]),
        ("get_(?x: u s e r # spaces count outside\n)_data", ["get_user_data"]),
        ("(?x) get_ (?-x:user_data|what is) ", ["get_user_data"]),
        (r"get\N{LOW LINE}user[\N{LOW LINE}]", ["get_user_data"]),
        ("[a-z]{100}|[一-龯ぁ-んァ-ン가-힣]{2}|user_i", ["get_user_data"]),
        ("(?#comment)user", ["get_user_data"]),
        (r"[\b]|Slack[\s\b]member", ["get_user_data"]),
        (r"\bmember\B|\bmember\b", ["get_user_data"]),
        (r"user\tdata|known\x20about|\101bsent", ["get_user_data"]),
        ("nothing like it", []),
    ],
)
def test_tools_come_in_catalogue_order_with_an_exact_name_first(
    catalog: ToolCatalog, pattern: str, names: list[str]
) -> None:
    assert [match.name for match in catalog.search_regex(pattern)] == names


def test_the_texts_that_matched_are_told_per_field(catalog: ToolCatalog) -> None:
    match = catalog.search_regex("user")[0]
    assert match.why == {
        "name": ("get_user_data",),
        "description": ("What is known\nabout a user",),
        "argument_names": ("user_id",),
    }


def test_words_an_argument_may_be_are_for_searches_by_words() -> None:
    schema = {"properties": {"method": {"enum": ["squash"]}}}
    catalog = ToolCatalog([{"name": "land", "description": "Squashes commits", "input_schema": schema}, {"name": "x"}])
    assert [match.why for match in catalog.search_regex("squash")] == [{"description": ("Squashes commits",)}]
    assert catalog.search_regex("^squash$") == []


def test_a_text_with_half_of_a_utf16_pair_is_matched_like_any_other() -> None:
    catalog = ToolCatalog([{"name": "write", "description": "Writes \ud83d files"}])
    assert [match.why for match in catalog.search_regex("files$")] == [{"description": ("Writes \ud83d files",)}]


def test_an_endless_description_hides_no_argument_and_no_alias() -> None:
    schema: dict[str, Any] = {"properties": {"method": {}}}
    endless = {
        "name": "land",
        "description": "long " * 3_000,
        "input_schema": schema,
        "aliases": ["al"],
        "tags": ["ta"],
    }
    catalog = ToolCatalog([endless])
    assert [catalog.search_regex(pattern)[0].why for pattern in ("^method$", "^al$", "^ta$")] == [
        {"argument_names": ("method",)},
        {"aliases": ("al",)},
        {"tags": ("ta",)},
    ]


@pytest.mark.parametrize("break_", ["\r", "\n", "\r\n", "\x0b", "\x1e", "\u2028"])
def test_a_line_break_that_ends_a_text_does_not_hide_its_end(break_: str) -> None:
    schema: dict[str, Any] = {"properties": {"path": {"description": f"Ends here{break_}"}, "other": {}}}
    catalog = ToolCatalog([{"name": "move", "description": f"Moves files{break_}", "input_schema": schema}])
    assert [len(catalog.search_regex(pattern)) for pattern in ("^Moves files$", "^Ends here$", "^other$")] == [1, 1, 1]


@given(st.lists(st.text(alphabet="ab é語\r\n\x0b\x85\u200b\u2028\ud83d", max_size=6), min_size=1, max_size=4))
def test_each_text_of_a_tool_is_one_line_of_what_patterns_match(texts: list[str]) -> None:
    alone = [searchable_text(Entry(name="", description=text)).removeprefix("\n") for text in texts]
    assert not any(set(text) & set("\r\n\x0b\x85\u200b\u2028\ud83d") for text in alone)
    together = Entry(name=texts[0], description="", argument_names=tuple(texts[1:]))
    assert searchable_text(together) == "\n".join([*alone, ""])


def test_the_first_pattern_makes_no_object_per_tool_for_the_garbage_collector() -> None:
    catalog = ToolCatalog([{"name": f"tool_{number}", "description": "Does it"} for number in range(1_000)])
    catalog.search_regex("tool_0")
    catalog.add({"name": "one_more"})
    gc.collect()
    before = len(gc.get_objects())
    assert [match.name for match in catalog.search_regex("one_more")] == ["one_more"]
    assert len(gc.get_objects()) - before < 100


def test_no_more_tools_than_asked_for_come_back(catalog: ToolCatalog) -> None:
    assert [match.name for match in catalog.search_regex("weather", limit=2)] == ["weather", "weather_forecast"]


@pytest.mark.parametrize(
    ("pattern", "position", "words"),
    [
        ("mail(", 4, "missing ), unterminated subpattern at position 4. Escape it with \\, or use plain words."),
        ("mail)", 4, "unbalanced parenthesis at position 4"),
        ("[abc", 0, r"missing ] for the [ at position 0. Close the set, or write \["),
        ("[a-", 0, "missing ] for the ["),
        ("*", 0, "nothing to repeat at position 0"),
        ("a**", 2, "multiple repeat"),
        ("x[z-a]", 1, "bad character range"),
        (r"[\d-z]", 3, "a range without a letter on both sides at position 3. Put - last"),
        (r"x\q", 1, r"unknown escape \q at position 1"),
        (r"\p{L}", 0, r"unknown escape \p at position 0. Use \w"),
        ("x\\", 1, "lone backslash"),
        (r"\x4", 0, "needs 2 hexadecimal digits"),
        (r"\N{NO SUCH LETTER}", 0, r"\N without the name of a letter"),
        (r"\N", 0, r"as in \N{BULLET}"),
        ("(?=x)", 0, "look-ahead"),
        ("a(?!x)", 1, "look-ahead"),
        ("(?<=x)y", 0, "look-behind"),
        ("(?<!x)y", 0, "look-behind"),
        (r"(a)\1", 3, "a back-reference"),
        ("(?P<n>a)(?P=n)", 8, "a back-reference"),
        ("(a)(?(1)b|c)", 3, "a conditional group"),
        ("(?>a)", 0, "an atomic group"),
        ("a*+", 2, "a possessive quantifier"),
        ("a(?i)b", 1, "flags in the middle at position 1. Write them first"),
        ("(?L)a", 0, "flag L"),
        ("(?<year>a)", 0, "unknown group '(?<' at position 0. Write (?:…) or (?P<name>…)"),
        ("a(?", 1, "unknown group '(?' at position 1"),
        ("(?~a)", 0, "unknown group '(?~'"),
        ("(?#open", 0, "unterminated comment"),
        ("(?P<1>a)", 0, "bad group name '1' at position 0"),
        ("(?P<>a)", 0, "bad group name ''"),
        ("(?P<n>a)|(?P<n>b)", 9, "a second group named 'n' at position 9. Rename one."),
        ("(?P<n>a", 0, "missing )"),
        ("[\u0100-\U0010ffff]" * 3, 12, "too many letters in ranges at position 12"),
        ("(a{1000}){1000}", None, "repeats too much"),
        (r"\w{500}", None, "repeats too much"),
        ("{9000000000}", None, "repeats too much"),
        ("a{9000000000,1}", None, "repeats too much"),
        (r"((a{30}){30}){30}", None, "repeats too much"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_its_place_and_a_remedy(
    catalog: ToolCatalog, pattern: str, position: int | None, words: str
) -> None:
    with pytest.raises(ToolSearchError) as caught:
        catalog.search_regex(pattern)
    assert (caught.value.code, caught.value.position) == ("invalid_pattern", position)
    assert words in str(caught.value)


def test_a_pattern_of_200_characters_is_taken_and_one_of_201_refused(catalog: ToolCatalog) -> None:
    assert catalog.search_regex("x" * 200) == []
    with pytest.raises(ToolSearchError, match="201 characters, and the limit is 200") as caught:
        catalog.search_regex("x" * 201)
    assert (caught.value.code, caught.value.wire_code("2025"), caught.value.wire_code()) == (
        "pattern_too_long",
        "pattern_too_long",
        "invalid_tool_input",
    )


def test_an_empty_pattern_is_refused(catalog: ToolCatalog) -> None:
    with pytest.raises(ToolSearchError, match="empty"):
        catalog.search_regex("")


def test_what_the_engine_itself_refuses_is_told_in_its_words(
    monkeypatch: pytest.MonkeyPatch, catalog: ToolCatalog
) -> None:
    monkeypatch.setattr("hikidashi.search.engine.patterns._MAX_COST", 10**9)
    with pytest.raises(ToolSearchError, match=r"the engine refuses it .*size limit") as caught:
        catalog.search_regex("((a{200}){200}){200}")
    assert caught.value.code == "invalid_pattern"


def test_a_search_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch, catalog: ToolCatalog) -> None:
    monkeypatch.setattr("hikidashi.search.engine.patterns._SECONDS_PER_10_000", 0.0)
    with pytest.raises(ToolSearchError, match="Use a simpler one") as caught:
        catalog.search_regex("no such words")
    assert caught.value.code == "execution_time_exceeded"


@pytest.mark.parametrize(("pattern", "found"), [("a.{9}=", True), ("a.{450}=", False)])
def test_a_costly_pattern_is_matched_against_the_start_of_a_long_text(pattern: str, found: bool) -> None:
    catalog = ToolCatalog([{"name": "x", "description": "a" * 5_000 + "="}])
    assert bool(catalog.search_regex(pattern)) == found


def test_time_spent_on_compiling_counts(monkeypatch: pytest.MonkeyPatch, catalog: ToolCatalog) -> None:
    ticks = iter(range(100))
    monkeypatch.setattr("hikidashi.search.engine.patterns.perf_counter", lambda: 0.0)
    monkeypatch.setattr("hikidashi.search.engine.patterns.thread_time", lambda: float(next(ticks)))
    with pytest.raises(ToolSearchError) as caught:
        catalog.search_regex("no such words")
    assert caught.value.code == "execution_time_exceeded"


@pytest.mark.parametrize(
    "hostile",
    [
        r"^(\w+\s?)*$",
        ".*calendar.*event.*",
        ".*.*.*=",
        r"(\w+\s*)+=",
        "(x+x+)+y",
        "(a?){200}a{200}",
        "[01]*1[01]{100}",
        "(.*a){50}=",
        r"(\w{4}){5}=",
    ],
)
def test_patterns_that_hang_other_engines_are_answered(hostile: str) -> None:
    text = "the calendar has every event of aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 0101010101 users! " * 20
    catalog = ToolCatalog({"name": f"tool_{number}", "description": text} for number in range(100))
    assert isinstance(catalog.search_regex(hostile), list)


LETTERS = st.sampled_from(["a", "b", "B", "_", "é", "語", " ", "-", ".", "&", "~", "[", "{", "}", "<", "#", "]", "0"])
ESCAPED = st.sampled_from(
    [
        r"\d",
        r"\w",
        r"\s",
        r"\S",
        r"\W",
        r"\D",
        r"\.",
        r"\<",
        r"\-",
        r"\ ",
        r"\n",
        r"\x61",
        r"\u8a9e",
        r"\141",
        r"\N{DOLLAR SIGN}",
    ]
)
MEMBERS = st.lists(
    st.one_of(st.sampled_from(["a", "b", "[", "&&", "~~", "--b", "a-c", "^", " ", "#", r"\]", r"\d", r"\w", r"\b"])),
    min_size=1,
    max_size=4,
).map("".join)
SETS = st.tuples(st.sampled_from(["[", "[^", "[]", "[^]"]), MEMBERS).map(lambda pair: f"{pair[0]}{pair[1]}]")
ATOMS = st.one_of(LETTERS.filter(lambda letter: letter != "]").map(re.escape), LETTERS, ESCAPED, SETS, st.just("."))
REPEATS = st.sampled_from(["", "*", "+", "?", "*?", "{2}", "{,2}", "{1,3}", "{1,}", "{", "{x}", "{}"])


def group(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    opening = st.sampled_from(["(", "(?:", "(?i:", "(?s:", "(?x:", "(?-x:"])
    alternatives = st.lists(inner, min_size=1, max_size=2).map("|".join)
    return st.tuples(opening, alternatives, REPEATS).map(lambda parts: f"{parts[0]}{parts[1]}){parts[2]}")


PIECES = st.tuples(ATOMS, REPEATS).map("".join)
PATTERNS = st.recursive(
    PIECES, lambda inner: st.one_of(group(inner), st.lists(inner, min_size=1, max_size=3).map("".join)), max_leaves=6
)
TEXTS = st.text(alphabet="abB_é語 -.&~[]{}<#0c\nx", max_size=12)


@pytest.mark.filterwarnings("ignore:Possible (nested set|set difference|set intersection|set symmetric):FutureWarning")
@given(PATTERNS, TEXTS)
def test_a_pattern_matches_what_it_matches_in_python(pattern: str, text: str) -> None:
    try:
        expected = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    except re.error:
        with pytest.raises(ToolSearchError):
            Pattern(pattern)
        return
    try:
        found = Pattern(pattern).matches(text)
    except ToolSearchError as error:
        if "repeats too much" not in str(error):
            raise
        reject()
    assert found == bool(expected.search(text))


@given(st.text(alphabet="ab()[]{}?*+|^$\\.<>=!:#-,019PxisLNdwbAZ_ \n語é&~", max_size=MAX_PATTERN), TEXTS)
def test_any_text_is_a_pattern_or_refused_as_one(pattern: str, text: str) -> None:
    try:
        assert Pattern(pattern).matches(text) in (True, False)
    except ToolSearchError as error:
        if error.code != "invalid_pattern":
            raise
