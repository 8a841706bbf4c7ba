"""Messages and reasons are made once, in every language; whoever faces a reader chooses one."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from string import Formatter
from typing import cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hikidashi.web
from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.texts import TABLES, Language, in_language, localized
from hikidashi.web import SearchProvider, SearchRequest, SearchResults
from hikidashi.web.answers import fence, format_error, format_extract
from hikidashi.web.local import LocalSearchProvider
from hikidashi.web.messages import api_error, message, reason
from hikidashi.web.providers.searxng import SearxngProvider
from hikidashi.web.providers.tavily import TavilyAPIClient
from hikidashi.web.results import ExtractResults, FailedPage
from hikidashi.web.tools import TOOL_NAMES, WebTools, definition

JAPANESE = "レート制限を超過しました（HTTP 429）。3秒後に再試行できます。"
ENGLISH = "The rate limit is exceeded (HTTP 429). Try again in 3 seconds."
FRENCH = cast("Language", "fr")


def limited() -> TavilyAPIError:
    wait = message("wait", seconds=3.0)
    return api_error("RATE_LIMIT_ERROR", ErrorType.RATE_LIMIT_ERROR, 429, 3.0, status=429, wait=wait, detail="")


def told(error: TavilyAPIError, language: Language) -> TavilyAPIError:
    return TavilyAPIError(in_language(error.message, language), error.error_type)


@pytest.mark.parametrize("client", ["ja", "en"])
@pytest.mark.parametrize(
    ("reader", "text"),
    [
        ("ja", f"Tavily API エラー: {JAPANESE}\nエラータイプ: RATE_LIMIT_ERROR"),
        ("en", f"Tavily API error: {ENGLISH}\nError type: RATE_LIMIT_ERROR"),
    ],
)
def test_an_error_is_told_in_the_language_of_its_reader_whatever_the_client_speaks(
    client: Language, reader: Language, text: str
) -> None:
    assert format_error(told(limited(), client), language=reader) == text


def pickled(error: TavilyAPIError) -> TavilyAPIError:
    return pickle.loads(pickle.dumps(error))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_a_message_keeps_its_translations_through_copies(again: Callable[[TavilyAPIError], TavilyAPIError]) -> None:
    error = again(limited())
    assert (error.message, in_language(error.message, "en")) == (JAPANESE, ENGLISH)


def test_reasons_are_told_in_the_language_of_the_reader_twice_over() -> None:
    japanese = in_language(reason("status", status=404), "ja")
    pages = ExtractResults(results=(), failed_results=(FailedPage(url="https://a.jp/", error=japanese),))
    assert format_extract(pages, language="en").endswith("- https://a.jp/: the server answered 404")
    assert format_extract(pages, language="ja").endswith("- https://a.jp/: サーバーの応答は 404 でした")


def test_a_localized_text_is_text_like_any_other() -> None:
    assert json.dumps(reason("page_failed")) == '"the page could not be extracted"'


def test_a_reason_is_told_with_the_reason_inside_it_in_the_same_language() -> None:
    sent = reason("robots_unreadable", why=reason("status", status=503))
    assert sent == "its robots.txt could not be read: the server answered 503"
    assert in_language(sent, "ja") == "robots.txt を読めないため読み取りません（サーバーの応答は 503 でした）"


@given(st.text(max_size=200))
def test_text_of_others_is_never_changed_by_translation(text: str) -> None:
    assert in_language(text, "ja") is text


# Public constructors convert at their border: what `str(error)` gives is in the language that was asked for.


def providers(language: Language, folder: Path) -> list[TavilyAPIClient | SearxngProvider | LocalSearchProvider]:
    return [
        TavilyAPIClient("tvly-test", base_url="http://127.0.0.1:9", language=language),
        SearxngProvider("http://127.0.0.1:9", language=language),
        LocalSearchProvider(folder / "web.db", language=language),
    ]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ja", "検索クエリが空です（受け取った値: ''）。1文字以上1000文字以下で指定してください。"),
        ("en", "The query is empty: ''. Give 1 to 1000 characters."),
    ],
)
async def test_every_provider_raises_in_its_own_language(language: Language, text: str, tmp_path: Path) -> None:
    for provider in providers(language, tmp_path):
        async with provider:
            with pytest.raises(TavilyAPIError) as caught:
                await provider.search("")
        assert str(caught.value) == caught.value.args[0] == text


@pytest.mark.parametrize(
    ("language", "text"),
    [("ja", "http:// または https:// で始まっていません"), ("en", "it does not begin with http:// or https://")],
)
async def test_every_provider_gives_reasons_in_its_own_language(language: Language, text: str, tmp_path: Path) -> None:
    for provider in providers(language, tmp_path):
        async with provider:
            extracted = await provider.extract(["example.com"])
        assert extracted.failed_results == (FailedPage(url="example.com", error=text),)


def client(language: Language) -> object:
    return TavilyAPIClient("tvly-test", timeout=0, language=language)


def searxng(language: Language) -> object:
    return SearxngProvider("ftp://a.lan", language=language)


@pytest.mark.parametrize(
    ("make", "language", "text"),
    [
        (client, "ja", "timeout が不正です（受け取った値: 0）。0より大きい数を指定してください。"),
        (client, "en", "`timeout` is 0. It must be a number above 0."),
        (
            searxng,
            "ja",
            "base_url が不正です（受け取った値: 'ftp://a.lan'）。http:// または https:// の URL を指定してください。",
        ),
        (searxng, "en", "`base_url` is 'ftp://a.lan'. It must be an http:// or https:// URL."),
    ],
)
def test_a_constructor_refuses_in_the_language_it_was_given(
    make: Callable[[Language], object], language: Language, text: str
) -> None:
    with pytest.raises(TavilyAPIError) as caught:
        make(language)
    assert str(caught.value) == text


# Only what faces a reader chooses a language.

WEB = Path(hikidashi.web.__file__).parent
EDGES = {
    "answers.py",
    "mcp.py",
    "provider.py",
    "providers/choose.py",
    "local/provider.py",
    "providers/searxng.py",
    "providers/tavily.py",
    "pydantic_ai.py",
    "strands.py",
    "tools.py",
}


def takes_a_language(path: Path) -> bool:
    return any(
        argument.arg == "language"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    )


def test_no_inner_function_takes_a_language() -> None:
    taking = {path.relative_to(WEB).as_posix() for path in WEB.rglob("*.py") if takes_a_language(path)}
    assert taking - EDGES == set()


def test_there_is_one_language_type() -> None:
    source = WEB.parent
    named = [
        path
        for path in source.rglob("*.py")
        if re.search(r"^_?Language\b.*=", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert named == [source / "texts" / "__init__.py"]
    assert hikidashi.web.Language is Language


# The tables: one per language, and a third language is one more table.


def placeholders(template: str) -> set[str]:
    return {f"{name}:{spec}" for _, name, spec, _ in Formatter().parse(template) if name is not None}


def test_every_language_has_the_same_texts_with_the_same_placeholders() -> None:
    assert set(TABLES) == set(get_args(Language))
    english = TABLES["en"]
    for rooms in TABLES.values():
        assert list(rooms) == list(english)
        for room, table in rooms.items():
            assert list(table) == list(english[room])
            for key, template in table.items():
                assert placeholders(template) == placeholders(english[room][key]), key


class Unreachable(SearchProvider):
    """A provider that always fails."""

    name = "nobody"

    async def _search(self, request: SearchRequest) -> SearchResults:
        raise limited()


async def test_a_third_language_is_one_more_table(monkeypatch: pytest.MonkeyPatch) -> None:
    french = {
        **TABLES["en"]["web"],
        "RATE_LIMIT_ERROR": "Trop de requêtes (HTTP {status}).{wait}{detail}",
        "wait": " Réessayez dans {seconds:g} secondes.",
        "reason.status": "le serveur a répondu {status}",
        "format.error": "Erreur de l’API Tavily",
        "format.error_type": "Type d’erreur",
        "format.failed": "URL en échec",
        "fence.notice": "Des données entre <{tag}> et </{tag}>.",
        "tool.tavily_search": "Chercher sur le Web",
    }
    monkeypatch.setitem(TABLES, FRENCH, {**TABLES["en"], "web": french})
    text = "Trop de requêtes (HTTP 429). Réessayez dans 3 secondes."

    error = limited()
    assert (str(error), in_language(error.message, "en"), in_language(error.message, FRENCH)) == (
        JAPANESE,
        ENGLISH,
        text,
    )
    assert format_error(error, language=FRENCH) == f"Erreur de l’API Tavily: {text}\nType d’erreur: RATE_LIMIT_ERROR"
    failed = FailedPage(url="https://a.fr/", error=reason("status", status=404))
    assert format_extract(ExtractResults(results=(), failed_results=(failed,)), language=FRENCH).endswith(
        "## URL en échec\n- https://a.fr/: le serveur a répondu 404"
    )
    answer = await WebTools(provider=Unreachable(), language=FRENCH).search("q")
    assert answer.text == f"Erreur de l’API Tavily: {text}\nType d’erreur: RATE_LIMIT_ERROR"
    assert definition(TOOL_NAMES[0], FRENCH).description == "Chercher sur le Web"
    assert fence("text", language=FRENCH).startswith("Des données entre <web-data-")


def test_a_language_without_a_table_is_refused_and_a_missing_translation_is_english() -> None:
    with pytest.raises(ValueError, match="`language` is 'fr': use 'en' or 'ja'"):
        format_error(limited(), language=FRENCH)
    assert in_language(limited().message, FRENCH) == ENGLISH


@given(st.text(max_size=40), st.integers())
def test_values_are_filled_in_as_they_are_in_each_language(text: str, number: int) -> None:
    inner = localized("web", "reason.status", "ja", status=number)
    outer = localized("web", "reason.robots_unreadable", "en", why=inner)
    assert outer == f"its robots.txt could not be read: the server answered {number}"
    assert in_language(outer, "ja") == f"robots.txt を読めないため読み取りません（サーバーの応答は {number} でした）"
    assert in_language(localized("web", "format.score"), "en") == "Score"
    assert localized("web", "detail", "en", text=text).strip() == f"The API says: {text}".strip()
