"""What a model reads of a search: definitions of tools within a budget of tokens, and sentences in its language.

The answer to a search is a sentence, then one JSON object per tool and line, as many as an `AnswerBudget` allows.
`found_names` reads the lines back when a conversation is resumed in another process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from ..texts import Language
from ..tokens import estimate_tokens
from ..tool import json_text
from .catalog import MAX_LIMIT
from .engine.entry import Entry

__all__ = [
    "CALL_TOOL",
    "DEFAULT_BUDGET",
    "SEARCH_TOOLS",
    "AnswerBudget",
    "Language",
    "Shown",
    "Wording",
    "budget_of",
    "compact_schema",
    "definition_line",
    "echo",
    "found_names",
    "shallow_schema",
    "short_line",
    "smaller_schemas",
    "tokens_of",
    "wording",
]


_DEFAULT = 5_000
_FEWEST = 200
_CHARACTERS_PER_TOKEN = 6  # of text without spaces, which the estimate takes for a few words
_ABOUT = 120  # characters of a description in a one-line summary
_FRAME = 150  # tokens reserved for the sentences around the tools
_LEAST_DESCRIPTION = 60  # tokens of a description that are kept while the schema is shortened
_CUT = " […cut: {shown:,} of {total:,} characters]"

_SHORT_SCHEMA = " […the arguments are shown in short]"


@dataclass(frozen=True, slots=True)
class AnswerBudget:
    """Maximum number of tokens (estimated) in the answer to one search.

    The best tools are shown in full as far as they fit, the next ones by name and one line, and the rest is counted. If
    the best tool alone is too long, its description is cut, then the descriptions in its schema, then the schema.

    Raises:
        ValueError: `tokens` is less than 200, too few to show a tool.
    """

    tokens: int = _DEFAULT

    def __post_init__(self) -> None:
        if type(self.tokens) is not int or self.tokens < _FEWEST:
            raise ValueError(f"`tokens` of a budget is {self.tokens!r}: use a whole number from {_FEWEST} on.")

    def shown(self, entries: Sequence[Entry], cost: Callable[[Entry], int] | None = None) -> Shown:
        """Which of `entries`, best first, are shown in full, and which in one line.

        `cost` gives the tokens of a tool in full, if not those of its line of JSON.
        """
        of_whole = _cost_of_line if cost is None else cost
        left = self.tokens - _FRAME
        lines: list[int] = []
        for entry in entries:
            line = tokens_of(short_line(entry))
            if lines and line > left:
                break
            lines.append(line)
            left -= line
        whole: list[Entry] = []
        short: list[Entry] = []
        for place, (entry, line) in enumerate(zip(entries, lines, strict=False)):
            needed = of_whole(entry)
            if needed <= left + line:
                left -= needed - line
                whole.append(entry)
            elif place == 0:
                left = 0
                whole.append(self.cut(entry, self.tokens - _FRAME - sum(lines[1:])))
            else:
                short.append(entry)
        return Shown(tuple(whole), tuple(short), len(entries) - len(lines))

    def cut(self, entry: Entry, tokens: int | None = None) -> Entry:
        """`entry` with a definition of at most `tokens`, by default the whole budget; `entry` itself if it fits.

        Levels of a schema below the sixtieth are left out in any case: some frameworks refuse them.
        """
        room = max(_FEWEST // 2, self.tokens - _FRAME if tokens is None else tokens)
        if _cost_of_line(entry) <= room:
            schema = shallow_schema(entry.input_schema)
            return entry if schema is entry.input_schema else replace(entry, input_schema=schema)
        bare = replace(entry, description="")
        least = min(_LEAST_DESCRIPTION, tokens_of(entry.description))
        note = ""
        for schema in smaller_schemas(entry.input_schema):
            bare = replace(bare, input_schema=schema)
            if _cost_of_line(bare) + tokens_of(note) + least <= room:
                break
            note = _SHORT_SCHEMA
        return replace(
            bare, description=_cut_text(entry.description, room - _cost_of_line(bare) - tokens_of(note)) + note
        )


@dataclass(frozen=True, slots=True)
class Shown:
    """The tools in the answer to a search."""

    whole: tuple[Entry, ...]
    """Shown in full: name, description and input schema."""
    short: tuple[Entry, ...] = ()
    """Shown by name and one line."""
    further: int = 0
    """Number of tools that are only counted."""


DEFAULT_BUDGET = AnswerBudget()


def budget_of(given: AnswerBudget | int) -> AnswerBudget:
    """The value of a `budget` option as an `AnswerBudget`.

    Raises:
        ValueError: it is not a whole number, or too small.
    """
    return given if isinstance(given, AnswerBudget) else AnswerBudget(given)


def tokens_of(text: str) -> int:
    """Estimated tokens of `text`; at least one for every six characters."""
    return max(estimate_tokens(text), -(-len(text) // _CHARACTERS_PER_TOKEN))


def definition_line(entry: Entry) -> str:
    """A tool in full, as one line of JSON: name, description and input schema."""
    return _one_line(
        {
            "name": entry.name,
            "description": entry.description,
            "input_schema": compact_schema(entry.input_schema),
        }
    )


def short_line(entry: Entry) -> str:
    """A tool by name and short description; the first key differs from that of a definition."""
    summary = " ".join(entry.description[: 4 * _ABOUT].split())
    return _one_line({"tool": entry.name, "about": summary if len(summary) <= _ABOUT else summary[: _ABOUT - 1] + "…"})


def _cost_of_line(entry: Entry) -> int:
    return tokens_of(definition_line(entry))


def _cut_text(description: str, room: int) -> str:
    """`description` cut to `room` tokens, with a note of how much is missing."""
    if tokens_of(description) <= room:
        return description
    note = _CUT.format(shown=len(description), total=len(description))
    low, high = 0, min(len(description), max(room, 0) * _CHARACTERS_PER_TOKEN)
    while low < high:
        middle = (low + high + 1) // 2
        if tokens_of(json.dumps(description[:middle], ensure_ascii=False) + note) <= room:
            low = middle
        else:
            high = middle - 1
    return description[:low].rstrip() + _CUT.format(shown=low, total=len(description))


def _one_line(shown: dict[str, Any]) -> str:
    try:
        line = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        line.encode()
    except (TypeError, ValueError):  # not a JSON value, or a lone surrogate
        return json.dumps(json.loads(json_text(shown)), ensure_ascii=False, separators=(",", ":"))
    return line


SEARCH_TOOLS = "search_tools"
CALL_TOOL = "call_tool"
_NAMED = 5  # unknown names in a note
_LONGEST = 128  # characters of each
_LONGEST_ECHO = 256  # characters of what a model gave
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
    "search and load": (
        "Finds tools that are not loaded yet and loads the best matches, so that you can call them. Use it when no "
        "loaded tool fits the task: many more exist. Describe one need in a few words, such as `send mail` or `weather "
        "forecast`; search again for each further need. `select:name_a,name_b` loads tools whose names you know. If "
        "nothing matches, try other words before you give up."
    ),
    "limit": "How many at most; {count} if left out.",
    "query is not text": "`query` must be text: a few words that say what you need.",
    "not loaded": (
        f"Tool {{name!r}} is not loaded: you have not seen its definition. Call `{SEARCH_TOOLS}` with the query "
        "`select:{name}`, then call it with the arguments that its definition asks for."
    ),
    "none to load": (
        f"There is no tool {{name!r}}. Call `{SEARCH_TOOLS}` with a few words that say what you need, then call one of "
        "the tools it loads."
    ),
    "no match to load": "No tool matches {query!r}. Try other words: what it does, or what it works on.",
    "removed": "The tools that were found here are gone. Search again.",
    "call": f"Call a tool that {SEARCH_TOOLS} found, with arguments that fit its input_schema.",
    "call name": f"The name, as {SEARCH_TOOLS} gave it.",
    "call arguments": "The arguments, an object that fits the tool's input_schema.",
    "found": f"Found {{count}}. Call one with {CALL_TOOL}(name, arguments).",
    "preloaded": (
        f"Tools that may fit this message, found by a search for it. Call one with {CALL_TOOL}(name, arguments) if it "
        f"does what is needed; else look for others with {SEARCH_TOOLS}."
    ),
    "loaded": "Found {count}. They are in your list of tools from now on: call them by name.",
    "nearest": (
        "No tool surely fits {query!r}. These are the nearest, perhaps not what you need: call one with "
        f"{CALL_TOOL}(name, arguments) only if it is, or try once more with other words."
    ),
    "nearest loaded": (
        "No tool surely fits {query!r}. These are the nearest, perhaps not what you need. They are in your list of "
        "tools from now on: call one only if it is, or try once more with other words."
    ),
    "nearest beside": "For {query} there is no tool that surely fits: {names} come nearest, perhaps not what you need.",
    "nothing beside": "For {query} there is no tool.",
    "short": 'In short, {count} more. To get them whole, search for "select:" and their names with commas between:',
    "further": "{count} further tools match: other or more words tell them apart.",
    "further at least": "{count} further tools match, or more: other or more words tell them apart.",
    "no such names": "No tool is named {names}. Look for what it should do by words.",
    "hidden": "Cannot be used now, because their server does not answer: {names}.",
    "only hidden": (
        "What fits {query!r} cannot be used now, because its server does not answer: {names}. Go on without it, or "
        "search again later."
    ),
    "unreachable": (
        "{name!r} could not be called: its server does not answer at the moment. The arguments are not the reason. "
        "Go on without it, or try again later."
    ),
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
    "no name": (
        f"`name` is {{name}}, and a call needs one: give the name of a tool as {SEARCH_TOOLS} gave it, and its "
        "arguments."
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
    "search and load": (
        "まだ読み込まれていないツールを検索し、最も合うものを読み込んで呼び出せるようにします。読み込み済みのツールで"
        "足りないときに使ってください。ほかに多数のツールがあります。必要なことを一つ、「メールを送る」「天気予報」の"
        "ように短く書き、別に必要なことがあれば改めて検索してください。名前がわかっているツールは「select:name_a,"
        "name_b」で読み込めます。見つからないときは、あきらめる前に別の言葉を試してください。"
    ),
    "limit": "最大件数。省略すると{count}件。",
    "query is not text": "`query` は文字列で指定してください。必要なことを短く書きます。",
    "not loaded": (
        "ツール {name!r} は読み込まれておらず、定義がまだ示されていません。"
        f"`{SEARCH_TOOLS}` を「select:{{name}}」で呼び出してから、定義に合う引数で呼び直してください。"
    ),
    "none to load": (
        f"{{name!r}} というツールはありません。`{SEARCH_TOOLS}` に必要なことを短く書いて検索し、読み込まれたツールを"
        "呼び出してください。"
    ),
    "no match to load": "{query!r} に合うツールはありません。操作や対象を別の言葉で検索してください。",
    "removed": "ここで見つかったツールはなくなりました。もう一度検索してください。",
    "call": f"{SEARCH_TOOLS} で見つけたツールを、その input_schema に合う引数で呼び出します。",
    "call name": f"{SEARCH_TOOLS} が返した名前。",
    "call arguments": "引数。ツールの input_schema に合うオブジェクト。",
    "found": f"{{count}}件見つかりました。{CALL_TOOL}(name, arguments) で呼び出してください。",
    "preloaded": (
        f"このメッセージに合いそうなツールを検索しておきました。必要なものがあれば {CALL_TOOL}(name, arguments) で"
        f"呼び出し、なければ {SEARCH_TOOLS} で探してください。"
    ),
    "loaded": "{count}件見つかりました。これ以降ツール一覧に載るので、名前で呼び出してください。",
    "nearest": (
        "{query!r} に確実に合うツールはありません。次は近いものですが、必要なものではないかもしれません。合う場合だけ "
        f"{CALL_TOOL}(name, arguments) で呼び出すか、別の言葉でもう一度だけ検索してください。"
    ),
    "nearest loaded": (
        "{query!r} に確実に合うツールはありません。次は近いものですが、必要なものではないかもしれません。"
        "これ以降ツール一覧に載ります。合う場合だけ呼び出すか、別の言葉でもう一度だけ検索してください。"
    ),
    "nearest beside": (
        "{query} に確実に合うツールはありません。近いもの: {names} (必要なものではないかもしれません)。"
    ),
    "nothing beside": "{query} に合うツールはありません。",
    "short": "ほか{count}件は概要のみです。定義が必要なら、「select:」に続けて名前をコンマ区切りで検索してください。",
    "further": "さらに{count}件が該当します。言葉を変えるか増やして絞り込んでください。",
    "further at least": "さらに{count}件以上が該当します。言葉を変えるか増やして絞り込んでください。",
    "no such names": "{names} という名前のツールはありません。必要なことを言葉で検索してください。",
    "hidden": "サーバーが応答していないため、現在使えません: {names}。",
    "only hidden": (
        "{query!r} に合うツールは、サーバーが応答していないため現在使えません: {names}。"
        "ツールなしで進めるか、後でもう一度検索してください。"
    ),
    "unreachable": (
        "{name!r} を呼び出せませんでした。サーバーが現在応答していません。引数の問題ではありません。"
        "このツールなしで進めるか、後でもう一度試してください。"
    ),
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
    "no name": (f"`name` が {{name}} です。{SEARCH_TOOLS} が返したツールの名前と、その引数を指定してください。"),
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

    def search_description(self, about: str | None, *, loads: bool = False) -> str:
        """The description of the search tool, or of one that `loads` what it finds; `about` is added by the caller."""
        description = self["search and load" if loads else "search"]
        return description + (" " + self["covers"].format(about=about) if about else "")

    def definitions(self, query: str, shown: Shown, *, confident: bool = True) -> str:
        """Found tools, with their definitions as far as the budget allows."""
        return self._listed(query, shown, [*map(definition_line, shown.whole)], "found" if confident else "nearest")

    def preloaded(self, shown: Shown) -> str:
        """Tools for a user's message, with their definitions as far as the budget allows."""
        return self._listed("", shown, [*map(definition_line, shown.whole)], "preloaded")

    def loaded(self, query: str, shown: Shown, *, confident: bool = True) -> str:
        """Found tools by name, for frameworks that show the definitions themselves."""
        lines = [json.dumps({"name": entry.name}, separators=(",", ":")) for entry in shown.whole]
        return self._listed(query, shown, lines, "loaded" if confident else "nearest loaded")

    def _listed(self, query: str, shown: Shown, lines: list[str], head: str) -> str:
        count = len(shown.whole) + len(shown.short) + shown.further
        sentences = [self[head].format(count=count, query=query), *lines]
        return "\n".join([*sentences, *self.rest(shown)])

    def rest(self, shown: Shown) -> Iterable[str]:
        """The lines about tools that are not shown in full."""
        if shown.short:
            yield self["short"].format(count=len(shown.short))
            yield from map(short_line, shown.short)
        if shown.further:
            count = len(shown.whole) + len(shown.short) + shown.further
            yield self["further at least" if count >= MAX_LIMIT else "further"].format(count=shown.further)

    def nothing(self, query: str) -> str:
        """Says that no tool matches."""
        return self["nothing"].format(query=query)

    def hidden(self, names: Iterable[str]) -> str:
        """Says that matching tools cannot be used now."""
        return self["hidden"].format(names=", ".join(names))

    def missing(self, hidden: Collection[str], unknown: Collection[str]) -> Iterable[str]:
        """Lines about tools of servers that do not answer, and about selected names that no tool has."""
        if hidden:
            yield self.hidden(hidden)
        if unknown:
            some = [repr(_cut(name, _LONGEST)) for name in unknown]
            more = [f"… (+{len(some) - _NAMED})"] if len(some) > _NAMED else []
            yield self["no such names"].format(names=", ".join([*some[:_NAMED], *more]))

    def only_hidden(self, query: str, names: Iterable[str]) -> str:
        """Says that no matching tool can be used now."""
        return self["only hidden"].format(query=query, names=", ".join(names))

    def unreachable(self, name: str) -> str:
        """Says that the server of a tool does not answer."""
        return self["unreachable"].format(name=_cut(name))

    def no_name(self, given: object) -> str:
        """Says that a call has no tool name."""
        return self["no name"].format(name="missing" if given is None else echo(given))

    def undiscovered(self, entry: Entry, budget: AnswerBudget) -> str:
        """Says that the tool was not called, with its definition."""
        line = definition_line(budget.cut(entry))
        return self["undiscovered"].format(name=entry.name, search=SEARCH_TOOLS) + "\n" + line

    def undiscovered_but_loaded(self, name: str) -> str:
        """Says that the tool was not called, and is loaded now."""
        return self["undiscovered loaded"].format(name=name, search=SEARCH_TOOLS)

    def unknown(self, name: str, near: Iterable[str]) -> str:
        """Says that there is no such tool, with similar names."""
        names = ", ".join(near)
        key = "unknown near" if names else "unknown"
        return self[key].format(name=_cut(name), search=SEARCH_TOOLS, near=names)

    def not_listed(self, name: str) -> str:
        """Says that a tool is not listed, and how to find and call it."""
        return self["not listed"].format(name=_cut(name))

    def definition(self, entry: Entry, budget: AnswerBudget) -> str:
        """The definition of a tool, to be added to an error."""
        return self["definition"].format(name=entry.name) + "\n" + definition_line(budget.cut(entry))


def echo(value: object) -> str:
    """What a model gave in place of something else, in short."""
    return _cut(repr(value))


def _cut(text: str, longest: int = _LONGEST_ECHO) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


_WORDINGS = {"en": Wording(_EN), "ja": Wording(_JA)}


def wording(language: Language) -> Wording:
    """The sentences of `language`.

    Raises:
        ValueError: `language` is unknown.
    """
    if not isinstance(language, str) or language not in _WORDINGS:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"`language` is {language!r}: use 'en' or 'ja'.")
    return _WORDINGS[language]


def found_names(text: str) -> list[str]:
    """The names of the tools in the answer to a search."""
    names: list[str] = []
    for line in text.split("\n"):  # not `splitlines`: a description may have a U+2028
        if not line.startswith('{"name":'):
            continue
        try:
            shown = json.loads(line)
        except ValueError:  # truncated by a limit on results
            continue
        names.append(str(cast("Mapping[str, Any]", shown)["name"]))
    return names


_SCHEMAS_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")

_SCHEMAS = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")

_LISTS_OF_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems")

_ANNOTATIONS = frozenset({"examples", "example", "$comment", "default", "deprecated", "markdownDescription"})

_SOME_VALUES = 8
_DEEPEST = 60  # deeper levels do not help a model, recursion is limited, and strands leaves a deeper tool out
_DEEPER = "Deeper levels are left out here."
_Change = Callable[[dict[str, Any], int], dict[str, Any]]


def compact_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` without `$schema` and generated titles; a property named `title` stays."""
    return _changed(schema, lambda part, _: part, 0)


def shallow_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` itself, or without its levels below the sixtieth."""
    layer: list[Any] = [schema]
    for _ in range(_DEEPEST + 1):
        layer = [inner for part in layer for inner in _parts(part)]
        if not layer:
            return schema
    return compact_schema(schema)


def smaller_schemas(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """`schema`, then ever shorter versions: less of descriptions, annotations, enums, deep levels, arguments."""
    yield compact_schema(schema)
    for length in (200, 60, 0):
        yield _changed(schema, _describing(length), 0)
    bare = _changed(schema, _without_annotations, 0)
    yield bare
    for depth in (4, 3, 2, 1):
        yield _flattened(bare, depth)
    properties = bare.get("properties")
    if not isinstance(properties, dict):
        yield {"type": "object"}
        return
    named = cast("dict[str, Any]", properties)
    wanted = bare.get("required")
    listed = cast("list[Any]", wanted) if isinstance(wanted, list) else []
    required = [name for name in listed if isinstance(name, str) and name in named]
    order = [*required, *(name for name in named if name not in set(required))]
    kept = len(order)
    while kept:
        kept //= 2
        few = {name: _type_of(named[name]) for name in order[:kept]}
        yield {
            "type": "object",
            "properties": few,
            "required": [name for name in required if name in few],
            "description": f"{len(order) - kept:,} of {len(order):,} arguments are left out here.",
        }


def _changed(schema: Mapping[str, Any], change: _Change, depth: int) -> dict[str, Any]:
    """`schema` with `change` applied to each subschema, the innermost first."""
    if depth > _DEEPEST:
        return {"description": _DEEPER}
    part: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "$schema" or (key == "title" and isinstance(value, str)):
            continue
        if key in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
            named = cast("Mapping[str, Any]", value)
            part[key] = {name: _inner(inner, change, depth) for name, inner in named.items()}
        elif key in _SCHEMAS:
            part[key] = _inner(value, change, depth)
        elif key in _LISTS_OF_SCHEMAS and isinstance(value, list):
            part[key] = [_inner(inner, change, depth) for inner in cast("list[Any]", value)]
        else:
            part[key] = value
    return change(part, depth)


def _parts(schema: Any) -> Iterator[Any]:
    """The schemas directly inside of `schema`."""
    if not isinstance(schema, Mapping):
        return
    for key, value in cast("Mapping[str, Any]", schema).items():
        if key in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
            yield from cast("Mapping[str, Any]", value).values()
        elif key in _SCHEMAS:
            yield value
        elif key in _LISTS_OF_SCHEMAS and isinstance(value, list):
            yield from cast("list[Any]", value)


def _inner(schema: Any, change: _Change, depth: int) -> Any:
    return _changed(cast("Mapping[str, Any]", schema), change, depth + 1) if isinstance(schema, Mapping) else schema


def _describing(length: int) -> _Change:
    def change(part: dict[str, Any], _: int) -> dict[str, Any]:
        description = part.get("description")
        if not isinstance(description, str) or len(description) <= length:
            return part
        if length:
            return {**part, "description": description[: length - 1].rstrip() + "…"}
        return {key: value for key, value in part.items() if key != "description"}

    return change


def _without_annotations(part: dict[str, Any], _: int) -> dict[str, Any]:
    """Without descriptions and examples; a long enum becomes a few examples, so that all values stay allowed."""
    plain = {key: value for key, value in part.items() if key not in _ANNOTATIONS and key != "description"}
    values = plain.get("enum")
    if isinstance(values, list) and len(cast("list[Any]", values)) > _SOME_VALUES:
        del plain["enum"]
        few = cast("list[Any]", values)[:_SOME_VALUES]
        kinds = {"type": "string"} if all(isinstance(value, str) for value in few) else {}
        plain = {**kinds, **plain, "description": f"One of {len(cast('list[Any]', values))} values.", "examples": few}
    return plain


def _flattened(schema: dict[str, Any], depth: int) -> dict[str, Any]:
    """`schema` down to `depth`; deeper levels keep their type alone, without references to definitions."""

    def change(part: dict[str, Any], at: int) -> dict[str, Any]:
        return part if at < depth else _type_of(part)

    cut = _changed(schema, change, 0)
    return {key: value for key, value in cut.items() if key not in ("$defs", "definitions", "$ref") or depth > 1}


def _type_of(schema: Any) -> dict[str, Any]:
    kind = cast("Mapping[str, Any]", schema).get("type") if isinstance(schema, Mapping) else None
    return {} if kind is None else {"type": kind}
