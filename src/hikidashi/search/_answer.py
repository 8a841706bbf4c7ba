"""What a model reads of a tool search, in English and Japanese, and how a history is read back.

Every seam that shows tools as text takes it from here: a sentence, then one JSON object per tool and line. The
lines are what `found_names` finds again when a conversation goes on in another process.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from ..tool import json_text
from .entry import Entry
from .record import Recorder

__all__ = [
    "CALL_TOOL",
    "SEARCH_TOOLS",
    "Language",
    "Recorder",
    "Wording",
    "compact_schema",
    "definition_line",
    "found_names",
    "wording",
]

SEARCH_TOOLS = "search_tools"
CALL_TOOL = "call_tool"

Language = Literal["en", "ja"]


_EN = {
    "search": (
        "Find tools for a task. Most tools are not listed here: search whenever none of the listed ones does what is "
        "needed, before saying that it cannot be done."
    ),
    "covers": "There are tools for: {about}.",
    "query words": 'What the tool should do, in a few words: "send a mail". Or by name: "select:name_a,name_b".',
    "query regex": 'A regular expression for names and descriptions: "mail_.*". Or by name: "select:name_a,name_b".',
    "query both": (
        'What the tool should do, in a few words: "send a mail". Or a regular expression between slashes: '
        '"/mail_.*/". Or by name: "select:name_a,name_b".'
    ),
    "queries": "One entry for each action needed; all are searched.",
    "call": f"Call a tool that {SEARCH_TOOLS} found, with arguments that fit its input_schema.",
    "call name": f"The name, as {SEARCH_TOOLS} gave it.",
    "call arguments": "The arguments, an object that fits the tool's input_schema.",
    "found": f"Found {{count}}. Call one with {CALL_TOOL}(name, arguments).",
    "loaded": "Found {count}. They are in your list of tools from now on: call them by name.",
    "nothing": (
        "No tool fits {query!r}. Try once more with other words for the action or the thing. If that finds nothing "
        "either, there is no such tool: go on without it."
    ),
    "undiscovered": (
        "{name!r} was not called: it had not been looked up in this conversation, so its arguments were a guess. Its "
        "definition follows; call it again with arguments that fit, or look for others with {search}."
    ),
    "undiscovered loaded": (
        "{name!r} was not called: it had not been looked up in this conversation, so its arguments were a guess. It is "
        "in your list of tools from now on: call it again with arguments that fit, or look for others with {search}."
    ),
    "unknown": "There is no tool {name!r}. Look for one with {search}.",
    "unknown near": "There is no tool {name!r}. Look for one with {search}; the nearest are: {near}.",
    "not listed": (
        f"{{name!r}} is not in your list of tools. Look for it with {SEARCH_TOOLS}, and call what that finds with "
        f"{CALL_TOOL}(name, arguments)."
    ),
    "definition": "The definition of {name!r}, in case it has not been looked up:",
}

_JA = {
    "search": (
        "作業に必要なツールを探します。ここに載っていないツールが多数あります。載っているもので足りないときは、"
        "できないと答える前に必ず検索してください。"
    ),
    "covers": "対象分野: {about}。",
    "query words": "ツールにしてほしいことを短く: 「メールを送る」。名前で指定する場合: 「select:name_a,name_b」。",
    "query regex": "名前や説明に対する正規表現: 「mail_.*」。名前で指定する場合: 「select:name_a,name_b」。",
    "query both": (
        "ツールにしてほしいことを短く: 「メールを送る」。正規表現はスラッシュで囲みます: 「/mail_.*/」。"
        "名前で指定する場合: 「select:name_a,name_b」。"
    ),
    "queries": "必要な操作ごとに1項目。すべて検索されます。",
    "call": f"{SEARCH_TOOLS} で見つけたツールを、その input_schema に合う引数で呼び出します。",
    "call name": f"{SEARCH_TOOLS} が返した名前。",
    "call arguments": "引数。ツールの input_schema に合うオブジェクト。",
    "found": f"{{count}}件見つかりました。{CALL_TOOL}(name, arguments) で呼び出してください。",
    "loaded": "{count}件見つかりました。これ以降ツール一覧に載るので、名前で呼び出してください。",
    "nothing": (
        "{query!r} に合うツールはありません。操作や対象を別の言葉にして、もう一度だけ検索してください。"
        "それでも見つからなければ、そのツールは存在しません。ツールなしで進めてください。"
    ),
    "undiscovered": (
        "{name!r} は呼び出していません。この会話ではまだ検索されておらず、引数が推測によるものだからです。"
        "定義を次に示します。これに合う引数で呼び直すか、{search} で他のツールを探してください。"
    ),
    "undiscovered loaded": (
        "{name!r} は呼び出していません。この会話ではまだ検索されておらず、引数が推測によるものだからです。"
        "これ以降ツール一覧に載るので、定義に合う引数で呼び直すか、{search} で他のツールを探してください。"
    ),
    "unknown": "{name!r} というツールはありません。{search} で探してください。",
    "unknown near": "{name!r} というツールはありません。{search} で探してください。近いもの: {near}。",
    "not listed": (
        f"{{name!r}} はツール一覧にありません。{SEARCH_TOOLS} で探し、見つかったものを {CALL_TOOL}(name, arguments) で"
        "呼び出してください。"
    ),
    "definition": "{name!r} の定義 (まだ検索していない場合のために):",
}


class Wording:
    """The sentences of one language."""

    def __init__(self, sentences: Mapping[str, str]) -> None:
        self._sentences = sentences

    def __getitem__(self, key: str) -> str:
        return self._sentences[key]

    def search_description(self, about: str | None) -> str:
        """What the search tool says of itself; `about` is the one thing a caller adds."""
        return self["search"] + (" " + self["covers"].format(about=about) if about else "")

    def definitions(self, entries: Sequence[Entry]) -> str:
        """The tools found, each with all that a call needs."""
        return "\n".join([self._counted("found", entries), *(definition_line(entry) for entry in entries)])

    def loaded(self, entries: Sequence[Entry]) -> str:
        """The names of the tools found, where the framework itself shows the model what they are."""
        return "\n".join([self._counted("loaded", entries), *(_json_line({"name": entry.name}) for entry in entries)])

    def nothing(self, query: str) -> str:
        """That no tool fits."""
        return self["nothing"].format(query=query)

    def undiscovered(self, entry: Entry) -> str:
        """That the tool was not called, and what a call needs."""
        return self["undiscovered"].format(name=entry.name, search=SEARCH_TOOLS) + "\n" + definition_line(entry)

    def undiscovered_but_loaded(self, name: str) -> str:
        """That the tool was not called, and can be from now on."""
        return self["undiscovered loaded"].format(name=name, search=SEARCH_TOOLS)

    def unknown(self, name: str, near: Iterable[str]) -> str:
        """That there is no such tool, and which come near."""
        names = ", ".join(near)
        key = "unknown near" if names else "unknown"
        return self[key].format(name=name, search=SEARCH_TOOLS, near=names)

    def not_listed(self, name: str) -> str:
        """That a tool cannot be called by its own name, and how it is found and called."""
        return self["not listed"].format(name=name)

    def definition(self, entry: Entry) -> str:
        """What a call of the tool needs, beside an error."""
        return self["definition"].format(name=entry.name) + "\n" + definition_line(entry)

    def _counted(self, key: str, entries: Sequence[Entry]) -> str:
        return self[key].format(count=len(entries))


_WORDINGS = {"en": Wording(_EN), "ja": Wording(_JA)}


def wording(language: Language) -> Wording:
    """The sentences of `language`."""
    if language not in _WORDINGS:
        raise ValueError(f"`language` is {language!r}: use 'en' or 'ja'.")
    return _WORDINGS[language]


def definition_line(entry: Entry) -> str:
    """A tool as one line of JSON."""
    schema = compact_schema(entry.input_schema)
    return _json_line({"name": entry.name, "description": entry.description, "input_schema": schema})


def _json_line(shown: dict[str, Any]) -> str:
    try:
        line = _one_line(shown)
        line.encode()
    except (TypeError, ValueError):  # no JSON value, or half of a UTF-16 pair
        return _one_line(json.loads(json_text(shown)))
    return line


def _one_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def found_names(text: str) -> list[str]:
    """The names of the tools that an answer of a search showed."""
    names: list[str] = []
    for line in text.split("\n"):  # not `splitlines`: a description may have a U+2028
        if not line.startswith('{"name":'):
            continue
        try:
            shown = json.loads(line)
        except ValueError:  # cut off on the way, by a limit on results
            continue
        names.append(str(cast("Mapping[str, Any]", shown)["name"]))
    return names


_SCHEMAS_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMAS = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTS_OF_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems")


def compact_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` without `$schema` and the titles that libraries make from names; a property may be called so."""
    compact: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "$schema" or (key == "title" and isinstance(value, str)):
            continue
        if key in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
            named = cast("Mapping[str, Any]", value)
            compact[key] = {name: _compact(inner) for name, inner in named.items()}
        elif key in _SCHEMAS:
            compact[key] = _compact(value)
        elif key in _LISTS_OF_SCHEMAS and isinstance(value, list):
            compact[key] = [_compact(inner) for inner in cast("list[Any]", value)]
        else:
            compact[key] = value
    return compact


def _compact(schema: Any) -> Any:
    return compact_schema(cast("Mapping[str, Any]", schema)) if isinstance(schema, Mapping) else schema
