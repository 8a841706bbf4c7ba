"""The model finds the tool: by any part of its name, after a guess, and with what was wrong about a call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema.validators import validator_for
from tests.gateway.servers import LEGACY, program
from tests.gateway.test_gateway import connected, text_of

from hikidashi.gateway import GatewayServer, ServerOptions
from hikidashi.gateway.finder import Finder
from hikidashi.gateway.merged import merged
from hikidashi.gateway.results import LongResults, argument_problems, without_large_files
from hikidashi.gateway.upstream.listing import Listing

WORDS = ["get", "list", "user", "file", "mail", "検索", "Größe", "create", "v2", "by", "id", "report"]


def finder_of(servers: dict[str, list[str]]) -> Finder:
    listings = {
        server: Listing(tools=tuple(types.Tool(name=name, input_schema={"type": "object"}) for name in names))
        for server, names in servers.items()
    }
    finder = Finder()
    finder.update(merged(listings, "prefixed"), frozenset())
    return finder


NAMES = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map("_".join),
    st.text("abXY1_.-", min_size=2, max_size=90).map("n{}".format),
)


@given(
    st.dictionaries(st.sampled_from(["files", "git hub", "メモ"]), st.lists(NAMES, min_size=1, max_size=6), min_size=1)
)
def test_an_exact_name_always_finds_its_tool_also_where_it_was_shortened(servers: dict[str, list[str]]) -> None:
    finder = finder_of(servers)
    for names in servers.values():
        for name in names:
            answer = finder.search(name, down={})
            assert answer.kind == "select"
            assert set(answer.names) >= set(finder.search(f"select:{name}", down={}).names) or "," in name
            assert any(place.name.casefold() == name.casefold() for place in _places(finder, answer.names))
    for shown in finder.catalog.names:
        assert finder.search(shown, down={}).names[0] == shown
        assert json.loads(finder.definition(shown))["name"] == shown


def _places(finder: Finder, names: tuple[str, ...]) -> list[Any]:
    return [finder._known[name][1] for name in names]


@given(
    st.data(),
    st.lists(
        st.lists(st.text("abcdefgh", min_size=3, max_size=9), min_size=3, max_size=3).map("_".join),
        min_size=1,
        max_size=8,
    ),
)
def test_a_part_of_a_name_finds_its_tool(data: st.DataObject, names: list[str]) -> None:
    finder = finder_of({"files": names})
    name = data.draw(st.sampled_from(names))
    start = data.draw(st.integers(0, len(name) - 4))
    part = name[start : start + data.draw(st.integers(4, len(name) - start))]
    answer = finder.search(part, down={})
    matching = {f"files__{one}" for one in names if part.strip("_") in one}
    assert matching & set(answer.names)


def test_a_tool_of_5000_is_found_by_its_own_name_though_many_have_its_words() -> None:
    many = {f"server{number}": ["read_file", f"read_file_{number}"] for number in range(200)} | {
        "notes": ["read_files"]
    }
    assert finder_of(many).search("read_files", down={}).names[0] == "notes__read_files"


@pytest.mark.parametrize("guess", ["read_file", "legacy.read", "mcp__hikidashi__legacy__read", "x" * 5000, ""])
async def test_any_guess_is_answered_with_tools_and_never_with_a_failure(guess: str, tmp_path: Path) -> None:
    legacy = program(tmp_path, "legacy", LEGACY)
    for search in ("on", "off"):
        async with connected([legacy], search=search) as (client, _):
            answer = await client.call_tool(guess, {}) if guess else await client.call_tool("nothing", {})
        assert answer.is_error
        assert "There is no tool" in text_of(answer)
        if "read" in guess:
            assert '{"name":"legacy__read","call_with":"call_read_tool"' in text_of(answer)
            assert '"input_schema":{"type":"object"}' in text_of(answer)
        elif search == "off":
            assert "legacy__die, legacy__long, legacy__read" in text_of(answer)


def test_only_a_broken_server_whose_tool_would_have_matched_is_mentioned() -> None:
    finder = finder_of({"mail": ["send_mail"], "files": ["read_file"]})
    down = {"mail": "it closed the connection. Start it by hand.", "dead": "no such program", "files": "x" * 5000}
    mail = finder.search("send a mail", down=down).text
    files = finder.search("read_file", down=down).text
    nothing = finder_of({}).search("anything", down=down).text

    assert "the server 'mail' cannot be reached now, so calls of mail__send_mail may fail" in mail
    assert "'files'" not in mail
    assert "the server 'files' cannot be reached now" in files
    assert len(files) < 2000
    assert all(
        "the server 'dead' cannot be reached now, so its tools may fail or be missing" in text for text in (mail, files)
    )
    assert "the server 'mail' cannot be reached now" in nothing


def test_of_many_broken_servers_only_a_few_are_explained() -> None:
    down = {f"server{number}": "no such program" for number in range(50)}
    text = finder_of({"files": ["read_file"]}).search("read a file", down=down).text
    assert text.count("no such program") == 5
    assert text.endswith("Note: 45 more servers cannot be reached now, so their tools may be missing.")


# Arguments

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.sampled_from(["", "a", "b", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=5,
)
TYPES = st.sampled_from(["object", "array", "string", "number", "integer", "boolean", "null"])
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.booleans()
    | st.fixed_dictionaries({}, optional={"type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True)}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "properties": st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
            "required": st.lists(st.sampled_from(["a", "b", "c"]), max_size=3, unique=True),
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.sampled_from(["a", "^b", "."]), inner, max_size=2),
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "const": VALUES,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "items": inner,
            "minimum": st.integers(-3, 3),
            "$ref": st.sampled_from(["#", "#/$defs/x"]),
            "$defs": st.fixed_dictionaries({"x": inner}),
            "$schema": st.sampled_from(
                [
                    "https://json-schema.org/draft/2020-12/schema",
                    "http://json-schema.org/draft-07/schema#",
                    "http://json-schema.org/draft-04/schema#",
                    "http://json-schema.org/draft-03/schema#",
                ]
            ),
        },
    ),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), VALUES, max_size=4)


@given(SCHEMAS, ARGUMENTS)
def test_what_a_validator_accepts_has_no_problems(schema: Any, arguments: dict[str, Any]) -> None:
    problems = argument_problems(schema, arguments)
    validator: Any = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        accepted = bool(validator(schema).is_valid(arguments))
    except Exception:  # a reference to nothing or to itself: no judgement
        return
    assert not (accepted and problems)


ODD = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["type", "properties", "required", "enum", "a"]), inner)
    ),
)


@given(ODD, ARGUMENTS)
def test_a_schema_that_is_none_is_no_obstacle(schema: Any, arguments: dict[str, Any]) -> None:
    assert isinstance(argument_problems(schema, arguments), list)


def test_problems_are_named_without_the_values() -> None:
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "mode": {"enum": ["r", "w"]},
            "count": {"type": ["integer", "null"]},
        },
        "required": ["path", "mode"],
        "additionalProperties": False,
    }
    given = {"mode": "sk-test", "count": "3", "colour": "sk-test"}
    assert argument_problems(schema, given) == [
        "'path' is missing",
        "'mode' must be one of ['r', 'w']",
        "'count' must be of type integer or null",
        "there is no 'colour'",
    ]


STRICT = LEGACY.replace(
    '"description": "End at once.", "inputSchema": {"type": "object"}',
    '"description": "End at once.", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, '
    '"required": ["path"]}',
).replace(
    "        os._exit(3)",
    '        send({"id": asked, "result": text(str(params), isError="path" not in params["arguments"])})',
)


async def test_a_call_that_fails_says_what_was_wrong_and_one_that_the_server_takes_is_never_refused(
    tmp_path: Path,
) -> None:
    async with connected([program(tmp_path, "strict", STRICT)], search="on") as (client, _):
        wrong = await client.call_tool("call_tool", {"name": "strict__die", "arguments": {"file": "x"}})
        taken = await client.call_tool("call_tool", {"name": "strict__die", "arguments": {"path": 3, "more": []}})

    assert wrong.is_error
    assert 'Arguments: \'path\' is missing.\nIts definition: {"name":"strict__die"' in text_of(wrong)
    assert not taken.is_error
    assert "{'path': 3, 'more': []}" in text_of(taken)


# Results over the limit


@given(
    st.lists(st.text(alphabet="ab \n", max_size=60), max_size=4),
    st.one_of(
        st.none(), st.dictionaries(st.sampled_from(["a", "b"]), st.text(alphabet="xy ", max_size=60), max_size=2)
    ),
    st.booleans(),
    st.integers(1, 80),
)
def test_nothing_of_a_result_is_lost_by_a_cut(
    texts: list[str], structured: dict[str, str] | None, mirrored: bool, limit: int
) -> None:
    if mirrored and structured is not None:
        texts = [json.dumps(structured)]
    content: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    content.insert(0, {"type": "image", "data": "AA==", "mimeType": "image/png"})
    content.append({"type": "resource", "resource": {"uri": "a://b", "text": "resource text " * 3}})
    result: dict[str, Any] = {"content": content, "_meta": {"kept": 1}}
    if structured is not None:
        result["structuredContent"] = structured
    kept = LongResults()
    cut = kept.cut(result, limit)
    everything = "".join([*texts, "resource text " * 3])
    expected = json.dumps(structured, ensure_ascii=False) if structured is not None and not mirrored else ""
    if cut is result:
        assert len(everything) <= limit
        return
    assert (cut["_meta"], cut["content"][0]) == ({"kept": 1}, content[0])
    *blocks, note = cut["content"]
    shown = "".join(block.get("text") or block.get("resource", {}).get("text", "") for block in blocks)
    if "read_result" not in note.get("text", ""):
        shown += note.get("text") or note.get("resource", {}).get("text", "")
        rest = ""
    else:
        rest = read_all(kept, note["text"].partition('handle="')[2].partition('"')[0], limit)
    assert len(shown) <= limit
    assert (shown + rest).replace("\n", "") == (everything + expected).replace("\n", "")


def read_all(kept: LongResults, handle: str, limit: int) -> str:
    rest = ""
    while not (part := kept.read(handle, len(rest)) or "").startswith("[The result ends at"):
        body, _, note = part.rpartition("\n[")
        body = body if note.endswith(f"offset={len(rest) + len(body)}).]") else part
        assert 0 < len(body) <= limit
        rest += body
    return rest


def test_images_sounds_and_files_that_a_result_has_no_room_for_are_told_and_the_others_kept() -> None:
    image: dict[str, Any] = {"type": "image", "data": "A" * 120, "mimeType": "image/png"}
    sound: dict[str, Any] = {"type": "audio", "data": "A" * 900, "mimeType": "audio/wav"}
    file: dict[str, Any] = {"type": "resource", "resource": {"uri": "a://b", "blob": "A" * 181}}
    text: dict[str, Any] = {"type": "text", "text": "said " * 100}
    whole: dict[str, Any] = {"content": [image, text, image], "_meta": {"kept": 1}}
    assert without_large_files(whole, 2) is whole

    cut = without_large_files({**whole, "content": [image, sound, text, file, image]}, 2)
    assert (cut["_meta"], [cut["content"][place] for place in (0, 2, 4)]) == ({"kept": 1}, [image, text, image])
    told = [cut["content"][place]["text"] for place in (1, 3)]
    assert told[0].startswith(
        "[A sound (audio/wav, 900 characters of base64) was left out: a result has 300 of them at "
    )
    assert told[1].startswith("[The file 'a://b' (of an unknown type, 181 characters of base64) was left out: ")


@given(st.lists(st.integers(0, 600), max_size=6), st.integers(1, 5))
def test_what_is_kept_of_images_is_bounded_and_in_order(sizes: list[int], limit: int) -> None:
    content = [{"type": "image", "data": "A" * size, "mimeType": "image/png"} for size in sizes]
    shown = without_large_files({"content": content}, limit)["content"]
    assert len(shown) == len(content)
    assert sum(len(block.get("data", "")) for block in shown) <= 150 * limit
    assert all(block == given or block["type"] == "text" for block, given in zip(shown, content, strict=True))


async def test_a_large_image_of_a_server_is_left_out_and_told(tmp_path: Path) -> None:
    image = '{"content": [{"type": "image", "data": "AAAA" * 60000, "mimeType": "image/png"}]}'
    server = program(tmp_path, "legacy", LEGACY.replace('text("word " * 50000)', image))
    answers: list[types.CallToolResult] = []
    for limit in (1000, 2000):
        given = GatewayServer(server, ServerOptions(result_characters=limit))
        async with connected([given], search="on") as (client, _):
            answers.append(await client.call_tool("call_tool", {"name": "legacy__long", "arguments": {}}))

    assert "An image (image/png, 240,000 characters of base64) was left out" in text_of(answers[0])
    assert [block.type for block in answers[1].content] == ["image"]


async def test_a_result_that_is_only_structured_is_cut_too_and_read_on(tmp_path: Path) -> None:
    big = LEGACY.replace('text("word " * 50000)', '{"content": [], "structuredContent": {"words": "word " * 1000}}')
    server = GatewayServer(program(tmp_path, "legacy", big), ServerOptions(result_characters=1000))
    async with connected([server], search="on") as (client, _):
        cut = await client.call_tool("call_tool", {"name": "legacy__long", "arguments": {}})
        handle = text_of(cut).partition('handle="')[2].partition('"')[0]
        rest = await client.call_tool("read_result", {"handle": handle, "offset": "10"})
        wrong = await client.call_tool("read_result", {"handle": handle, "offset": 1.5})
        unknown = await client.call_tool("read_result", {"handle": "nothing", "offset": 0})

    assert cut.structured_content is None
    assert text_of(cut).startswith('{"words": "word word')
    assert len(text_of(rest)) < 1200
    assert text_of(wrong) == "`offset` is 1.5: give a whole number from 0 on."
    assert text_of(unknown) == "Nothing is kept under 'nothing' any more. Call the tool again."


async def test_a_pinned_tool_with_an_output_schema_keeps_its_structured_content(tmp_path: Path) -> None:
    described = LEGACY.replace(
        '"description": "Say a lot.", "inputSchema": {"type": "object"}',
        '"description": "Say a lot.", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}',
    ).replace('text("word " * 50000)', 'text("word " * 1000, structuredContent={"words": 1000})')
    server = GatewayServer(program(tmp_path, "legacy", described), ServerOptions(result_characters=1000))
    async with connected([server], search="on", options={"pin": ("*long",)}) as (client, _):
        await client.list_tools()
        result = await client.call_tool("legacy__long", {})

    assert result.structured_content == {"words": 1000}
