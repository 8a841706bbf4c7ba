"""What the web tools say when something is wrong, in Japanese and in English: one table."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from ...providers import SEARCH_PROVIDERS
from .said import Language, Said, said

__all__ = ["said_wait", "say"]

_MINUTE, _HOUR, _DAY = 60, 60 * 60, 24 * 60 * 60
_LONGEST_WAIT = 31 * _DAY

_SAYINGS: dict[str, tuple[str, str]] = {
    # What the caller gave.
    "query_type": (
        "検索クエリは文字列で指定してください（受け取った値: {value}）。",
        "The query must be a string, not {value}.",
    ),
    "query_empty": (
        "検索クエリが空です（受け取った値: {value}）。1文字以上{limit}文字以下で指定してください。",
        "The query is empty: {value}. Give 1 to {limit} characters.",
    ),
    "query_long": (
        "検索クエリが長すぎます（{length}文字: {value}）。{limit}文字以下で指定してください。",
        "The query is too long: {length} characters, {value}. Give at most {limit}.",
    ),
    "choice": (
        "{name} が不正です（受け取った値: {value}）。{allowed} のいずれかを指定してください。",
        "`{name}` is {value}. It must be one of {allowed}.",
    ),
    "integer_between": (
        "{name} が不正です（受け取った値: {value}）。{low}以上{high}以下の整数を指定してください。",
        "`{name}` is {value}. It must be an integer from {low} to {high}.",
    ),
    "integer_from": (
        "{name} が不正です（受け取った値: {value}）。{low}以上の整数を指定してください。",
        "`{name}` is {value}. It must be an integer of {low} or more.",
    ),
    "positive": (
        "{name} が不正です（受け取った値: {value}）。0より大きい数を指定してください。",
        "`{name}` is {value}. It must be a number above 0.",
    ),
    "texts": (
        "{name} が不正です（受け取った値: {value}）。文字列のリストを指定してください。",
        "`{name}` is {value}. It must be a list of strings.",
    ),
    "urls_empty": (
        "URLが指定されていません（受け取った値: {value}）。1件以上{limit}件以下のURLを指定してください。",
        "There is no URL in {value}. Give 1 to {limit} URLs.",
    ),
    # Why a single address was not read.
    "url_type": ("URLは文字列で指定してください", "a URL must be a string"),
    "url_surplus": (
        "1回の呼び出しで処理できるURLは{limit}件までです",
        "one call takes at most {limit} URLs",
    ),
    "page_unanswered": ("APIから結果が返されませんでした", "the API returned nothing for it"),
    "page_failed": ("コンテンツを抽出できませんでした", "the page could not be extracted"),
    # Before anything is sent.
    "key_missing": SEARCH_PROVIDERS["tavily"].missing_key("client"),
    "key_characters": (
        "Tavily の API キーに使用できない文字が含まれています。コピーした値を確認してください。",
        "The Tavily API key has characters that no key has. Check what was copied.",
    ),
    "key_and_keyless": (
        "keyless=True では API キーを送信しません。api_key と keyless のどちらか一方を指定してください。",
        "`keyless=True` sends no key. Pass either `api_key` or `keyless`.",
    ),
    "base_url": (
        "base_url が不正です（受け取った値: {value}）。http:// または https:// の URL を指定してください。",
        "`base_url` is {value}. It must be an http:// or https:// URL.",
    ),
    "credit_limit": (
        "クレジット上限 {limit:g} に達するため送信しませんでした（使用済み {used:g}、今回 {cost:g}）。"
        "credit_limit を引き上げてください。",
        "Not sent: it would cost {cost:g} credits, and {used:g} of the limit of {limit:g} are used. "
        "Raise `credit_limit`.",
    ),
    # What the API or the way to it answered.
    "AUTH_ERROR": (
        "API キーが無効か、権限がありません（HTTP {status}）。API キーを確認してください。{detail}",
        "The API key is invalid or lacks permission (HTTP {status}). Check the key.{detail}",
    ),
    "RATE_LIMIT_ERROR": (
        "レート制限を超過しました（HTTP {status}）。{wait}{detail}",
        "The rate limit is exceeded (HTTP {status}).{wait}{detail}",
    ),
    "VALIDATION_ERROR": (
        "APIがリクエストを受け付けませんでした（HTTP {status}）。{detail}",
        "The API refused the request (HTTP {status}).{detail}",
    ),
    "SERVER_ERROR": (
        "APIサーバーでエラーが発生しました（HTTP {status}）。時間をおいて再試行してください。{detail}",
        "The API server failed (HTTP {status}). Try again later.{detail}",
    ),
    "SERVICE_UNAVAILABLE": (
        "APIサービスが一時的に利用できません（HTTP {status}）。時間をおいて再試行してください。{detail}",
        "The API is unavailable for now (HTTP {status}). Try again later.{detail}",
    ),
    "TIMEOUT_ERROR": (
        "APIの応答が{seconds:g}秒以内に得られませんでした。timeout を延ばすか、再試行してください。",
        "The API did not answer within {seconds:g} seconds. Raise `timeout`, or try again.",
    ),
    "late": (
        "APIサーバーの処理が時間内に終わりませんでした（HTTP {status}）。再試行してください。{detail}",
        "The API server ran out of time (HTTP {status}). Try again.{detail}",
    ),
    "NETWORK_ERROR": (
        "APIに接続できませんでした（{reason}）。ネットワークと base_url を確認してください。",
        "The API could not be reached ({reason}). Check the network and `base_url`.",
    ),
    "API_ERROR": (
        "APIが想定外のエラーを返しました（HTTP {status}）。{detail}",
        "The API answered with an unexpected error (HTTP {status}).{detail}",
    ),
    "plan_limit": (
        "契約プランの利用上限に達しました（HTTP {status}）。Tavily のプランと利用上限を確認してください。{detail}",
        "The usage limit of the plan is reached (HTTP {status}). Check the plan and its limits.{detail}",
    ),
    "redirect": (
        "APIが別の場所を案内しました（HTTP {status}）。base_url を確認してください。",
        "The API pointed elsewhere (HTTP {status}). Check `base_url`.",
    ),
    "no_json": (
        "APIの応答がJSONではありません（HTTP {status}）。base_url を確認してください。",
        "The API's answer is not JSON (HTTP {status}). Check `base_url`.",
    ),
    "shape": (
        "APIの応答の形式が想定と異なります（{reason}）。",
        "The API's answer has an unexpected shape ({reason}).",
    ),
    "closed": (
        "応答を待つ間にクライアントが閉じられました。",
        "The client was closed while an answer was awaited.",
    ),
    "wait": ("{seconds:g}秒後に再試行できます。", " Try again in {seconds:g} seconds."),
    "wait_minutes": ("約{count:g}分後に再試行できます。", " Try again in about {count:g} minutes."),
    "wait_hours": ("約{count:g}時間後に再試行できます。", " Try again in about {count:g} hours."),
    "wait_until": ("{date}（UTC）以降に再試行できます。", " Try again after {date} (UTC)."),
    "detail": ("APIの説明: {text}", " The API says: {text}"),
}


def say(key: str, language: Language, **values: object) -> Said:
    """The sentence `key` in `language`, with its values filled in."""
    return said(*_SAYINGS[key], language, **values)


def said_wait(seconds: float | None, language: Language, *, now: datetime | None = None) -> Said | str:
    """When to try again, in the unit a person would use; empty where nobody says, or where it makes no sense.

    More than a month is no wait that a service means, so it is not repeated.
    """
    if seconds is None or not 0 <= seconds <= _LONGEST_WAIT:
        return ""
    if seconds < 2 * _MINUTE:
        return say("wait", language, seconds=math.ceil(seconds) if seconds >= 10 else round(seconds, 1))
    if seconds < 2 * _HOUR:
        return say("wait_minutes", language, count=math.ceil(seconds / _MINUTE))
    if seconds < 2 * _DAY:
        return say("wait_hours", language, count=math.ceil(seconds / _HOUR))
    moment = (now or datetime.now(UTC)) + timedelta(seconds=seconds)
    return say("wait_until", language, date=moment.date().isoformat())
