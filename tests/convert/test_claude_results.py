"""What a model in Claude Code reads of a result: text and images, or what the result was and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, query
from hypothesis import given
from hypothesis import strategies as st
from tests.support import PIXEL

from hikidashi import Tool, ToolResult, to_claude
from hikidashi.convert.claude import readable_result
from hikidashi.testing import MessagesServer, call, say
from hikidashi.testing.script import blocks_of
from hikidashi.tool import audio, image, resource, text

PICTURE = image(PIXEL, "image/png")
NOT_SHOWN = "The result of tool 't' has content that cannot be shown here: "
IS_ERROR = text("This result is an error:")


def link(**said: Any) -> Any:
    block: dict[str, Any] = {"type": "resource_link", "uri": "https://example.com/a", "name": "a"}
    return {**block, "_meta": {"hikidashi/pydantic-ai": said}} if said else block


def read(*content: Any, **fields: Any) -> ToolResult:
    return readable_result("t", ToolResult(content=content, **fields))


READ_AS: list[tuple[Any, list[Any]]] = [
    (text("words"), [text("words")]),
    (PICTURE, [PICTURE]),
    (resource("a:b", "words"), [resource("a:b", "words")]),
    (link(), [link()]),
    (resource("a:b.csv", "点".encode(), "text/csv"), [resource("a:b.csv", "点", "text/csv")]),
    (resource("a:b", b"{}", "application/ld+json"), [resource("a:b", "{}", "application/ld+json")]),
    (resource("a:b.png", PIXEL, "image/png"), [text("[a:b.png]"), PICTURE]),
    (image(b"<svg/>", "image/svg+xml"), [resource("image:svg+xml", "<svg/>", "image/svg+xml")]),
]


@pytest.mark.parametrize(("block", "shown"), READ_AS)
def test_text_and_images_are_shown_whatever_they_come_in(block: Any, shown: list[Any]) -> None:
    assert read(block) == ToolResult(content=tuple(shown))


REFUSED: list[tuple[Any, str]] = [
    (audio(b"RIFF", "audio/wav"), "a file of type audio/wav (audio, 4 bytes). Return text"),
    (resource("a:b", b"%PDF", "application/pdf"), "a file of type application/pdf (a:b, 4 bytes). Return its text"),
    (resource("a:b", b"\0"), "a file of type application/octet-stream (a:b, 1 bytes). Return text"),
    (image(b"II", "image/tiff"), "a file of type image/tiff (image:tiff, 2 bytes). Return text, or an image as PNG"),
    (resource("a:b", b"\xff", "text/plain"), "(a:b, 1 bytes), which is neither UTF-8 nor in the charset it names"),
    (link(kind="image-url"), "the image at https://example.com/a. Return its bytes as `BinaryContent`"),
    (link(kind="document-url"), "the document at https://example.com/a. Return its bytes"),
]


@pytest.mark.parametrize(("block", "note"), REFUSED)
def test_a_file_that_cannot_be_shown_is_named_with_the_remedy(
    block: Any, note: str, caplog: pytest.LogCaptureFixture
) -> None:
    result = read(text("beside"), block, structured_content={"beside": True})
    assert (result.is_error, result.structured_content) == (True, None)
    said, told = result.content
    assert said == text("beside")
    assert told["type"] == "text"
    assert told["text"].startswith(NOT_SHOWN)
    assert note in told["text"]
    assert caplog.messages == [told["text"]]


def test_structured_content_that_stood_alone_stays_beside_a_refusal() -> None:
    assert read(audio(b"", "audio/wav"), structured_content={"n": 1}).content[0] == text('{"n": 1}')


@pytest.mark.parametrize(
    ("result", "note"),
    [
        (ToolResult(content=(text("x" * 500_001),)), "has 500,001 characters, and the model can be shown 500,000 at"),
        (ToolResult(content=(text("😀" * 250_001),)), "has 500,002 characters"),
        (ToolResult(content=(text("x" * 300_000),) * 2), "has 600,000 characters"),
        (ToolResult(structured_content={"a": "x" * 500_000}), "has 500,009 characters"),
        (ToolResult(content=(resource("a:b", "x" * 500_000),)), "has 500,203 characters"),
        (ToolResult(content=(text("x" * 100_001), PICTURE)), "has 100,001 characters, and the model can be shown 100,"),
        (ToolResult(content=(text("x" * 3_000_000),), is_error=True), "has 3,000,000 characters"),
    ],
)
def test_more_than_can_be_shown_is_refused_with_its_length(result: ToolResult, note: str) -> None:
    refused = readable_result("t", result)
    assert refused.is_error
    assert f"The result of tool 't' {note}" in refused.text
    assert "Return less, or in parts" in refused.text


def test_what_just_fits_is_shown() -> None:
    fits = [
        ToolResult(content=(text("x" * 500_000),)),
        ToolResult(content=(text("x" * 100_000), PICTURE)),
        ToolResult(content=(text("x" * 10_000),), is_error=True),
    ]
    assert [readable_result("t", result) for result in fits] == fits
    assert readable_result("t", ToolResult(content=(text("x" * 600_000),)), longest=None).is_error is False
    assert readable_result("t", ToolResult(content=(text("x" * 10),)), longest=9).is_error


def test_an_error_that_cannot_be_marked_as_one_says_so() -> None:
    assert read(text("no"), PICTURE, is_error=True) == ToolResult(content=(IS_ERROR, text("no"), PICTURE))
    long = text("x" * 10_001)
    assert read(long, is_error=True) == ToolResult(content=(IS_ERROR, long))
    assert read(PICTURE, is_error=True, structured_content={"n": 1}).content == (IS_ERROR, text('{"n": 1}'), PICTURE)
    assert read(text("no"), is_error=True) == ToolResult.error("no")


media = st.sampled_from(
    ["text/plain", "application/pdf", "image/png", "image/tiff", "audio/wav", "x", "text/a; charset=z"]
)
blocks: st.SearchStrategy[Any] = st.one_of(
    st.builds(text, st.text()),
    st.builds(image, st.binary(), media),
    st.builds(audio, st.binary(), media),
    st.builds(resource, st.text(), st.binary() | st.text(), st.none() | media),
    st.just(link(kind="video-url")),
    st.just(link()),
)
SHOWN_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


@given(st.lists(blocks, max_size=4), st.booleans())
def test_any_result_is_something_a_model_can_read(content: list[Any], is_error: bool) -> None:
    result = ToolResult(content=tuple(content), is_error=is_error)
    shown = readable_result("t", result)
    for block in shown.content:
        assert block["type"] != "audio"
        assert block["type"] != "image" or block["mimeType"] in SHOWN_IMAGES
        assert block["type"] != "resource" or "text" in block["resource"]
    assert all(block in shown.content for block in content if block["type"] == "text")
    assert readable_result("t", shown) == shown


@pytest.mark.cli
async def test_the_real_cli_shows_all_of_it_and_no_path(tmp_path: Path) -> None:
    def answering(name: str, *content: Any, **fields: Any) -> Tool:
        async def give(_: dict[str, Any]) -> ToolResult:
            return ToolResult(content=content, **fields)

        return Tool(name=name, description="", input_schema={}, call=give)

    tools = [
        answering("pdf", text("see"), resource("a:b.pdf", b"%PDF", "application/pdf")),
        answering("csv", resource("a:b.csv", "点,1".encode(), "text/csv")),
        answering("long", text("x" * 500_001)),
        answering("failed", text("no"), PICTURE, is_error=True),
        answering("chatty", text("x" * 12_000), is_error=True),
    ]
    names = [f"mcp__hk__{tool.name}" for tool in tools]
    with MessagesServer([*(call(name, {}) for name in names), say("done")]) as server:
        options = ClaudeAgentOptions(
            mcp_servers={"hk": to_claude(tools, name="hk")},
            allowed_tools=names,
            tools=[],
            setting_sources=[],
            system_prompt="Be brief.",
            cwd=tmp_path,
            env=server.env(tmp_path),
        )
        async for _ in query(prompt="go", options=options):
            pass
        sent = [block for turn in server.requests[-1].messages for block in blocks_of(turn["content"])]
    assert server.refusals == []
    pdf, csv, long, failed, chatty = (block for block in sent if block["type"] == "tool_result")
    assert pdf["is_error"]
    assert "see" in str(pdf["content"])
    assert "application/pdf (a:b.pdf, 4 bytes)" in str(pdf["content"])
    assert "a:b.csv" in str(csv["content"])
    assert "点,1" in str(csv["content"])
    assert long["is_error"]
    assert "has 500,001 characters" in str(long["content"])
    assert [block["type"] for block in failed["content"]][:3] == ["text", "text", "image"]
    assert "x" * 12_000 in str(chatty["content"])
    assert "saved to" not in str([pdf, csv, long, chatty])
