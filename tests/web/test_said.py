from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable

import pytest

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.web.answers.format import format_error, format_extract
from hikidashi.web.pages.reasons import in_language, reason
from hikidashi.web.results import ExtractResults, FailedPage
from hikidashi.web.wording.messages import say
from hikidashi.web.wording.said import Language

JAPANESE = "レート制限を超過しました（HTTP 429）。3秒後に再試行できます。"
ENGLISH = "The rate limit is exceeded (HTTP 429). Try again in 3 seconds."


def limited(language: Language) -> TavilyAPIError:
    wait = say("wait", language, seconds=3.0)
    message = say("RATE_LIMIT_ERROR", language, status=429, wait=wait, detail="")
    return TavilyAPIError(message, ErrorType.RATE_LIMIT_ERROR, 429, 3.0)


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
    assert format_error(limited(client), language=reader) == text


def pickled(error: TavilyAPIError) -> TavilyAPIError:
    return pickle.loads(pickle.dumps(error))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_a_sentence_keeps_its_twin_through_copies(again: Callable[[TavilyAPIError], TavilyAPIError]) -> None:
    error = again(limited("ja"))
    assert (error.message, in_language(error.message, "en")) == (JAPANESE, ENGLISH)


def test_reasons_are_told_in_the_language_of_the_reader_twice_over() -> None:
    japanese = in_language(reason("status", status=404), "ja")
    pages = ExtractResults(results=(), failed_results=(FailedPage(url="https://a.jp/", error=japanese),))
    assert format_extract(pages, language="en").endswith("- https://a.jp/: the server answered 404")
    assert format_extract(pages, language="ja").endswith("- https://a.jp/: サーバーの応答は 404 でした")


def test_a_sentence_is_text_like_any_other() -> None:
    assert json.dumps(say("page_failed", "en")) == '"the page could not be extracted"'
