"""No result is lost: what a tool returns reaches the model as it is, or is refused with its name and a remedy."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import Agent, AudioUrl, BinaryContent, DocumentUrl, ImageUrl, ModelRetry, ToolReturn, UserError
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    NativeToolReturnPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.toolsets import FunctionToolset
from tests.support import PIXEL, ClaudeCode, cli_processes

from hikidashi.claude.history import _tool_result, content_blocks, results_fit_mcp, with_downloads
from hikidashi.testing import MessagesServer, call, say, turn
from hikidashi.testing.script import blocks_of
from hikidashi.testing.server import Exchange, LoopbackServer

PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
WAV = b"RIFF----WAVE"
CSV = "名前,点\n花子,3\n".encode()
PICTURE: dict[str, Any] = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PIXEL).decode()},
}

toolset = FunctionToolset[Any]()


@toolset.tool_plain
def report() -> BinaryContent:
    """A PDF."""
    return BinaryContent(PDF, media_type="application/pdf", identifier="report.pdf")


@toolset.tool_plain
def photo_link() -> ImageUrl:
    """A photo somewhere else."""
    return ImageUrl("https://example.com/a.png")


@toolset.tool_plain
def table() -> BinaryContent:
    """A file of text."""
    return BinaryContent(CSV, media_type="text/csv", identifier="points.csv")


@toolset.tool_plain
def book() -> str:
    """More than Claude Code takes as an answer to a call."""
    return "長" * 600_000


@toolset.tool_plain
def library() -> str:
    """More than any model can be shown."""
    return "x" * 2_000_001


@toolset.tool_plain
def photo() -> ToolReturn:
    """A photo."""
    return ToolReturn(["a dot", BinaryContent(PIXEL, media_type="image/png")])


@toolset.tool_plain
def song() -> BinaryContent:
    """Sound."""
    return BinaryContent(WAV, media_type="audio/wav", identifier="song.wav")


@toolset.tool_plain
def gallery() -> list[Any]:
    """Much text, and a photo."""
    return ["x" * 150_000, BinaryContent(PIXEL, media_type="image/png")]


@toolset.tool_plain
def poster() -> BinaryContent:
    """A photo of half a megabyte."""
    return BinaryContent(PIXEL + bytes(500_000), media_type="image/png")


@toolset.tool_plain(retries=1)
def long_refusal() -> str:
    """An error of many words."""
    raise ModelRetry("no " * 5_000)


def of_tools(server: MessagesServer, at: int = -1) -> dict[str, dict[str, Any]]:
    """The results in a request, by the name of the tool."""
    blocks = [block for message in server.requests[at].messages for block in blocks_of(message["content"])]
    names = {block["id"]: block["name"].rpartition("__")[2] for block in blocks if block["type"] == "tool_use"}
    return {names[block["tool_use_id"]]: block for block in blocks if block["type"] == "tool_result"}


def texts(result: dict[str, Any]) -> str:
    content = result["content"]
    return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)


# pydantic-ai runs the tools


@pytest.mark.cli
async def test_what_mcp_cannot_carry_reaches_the_model_in_agent_mode(claude_code: ClaudeCode) -> None:
    calls = turn(*(call(name, {}) for name in ("report", "photo_link", "table", "book", "gallery")))
    script = [calls, turn(call("count", {}), call("poster", {})), call("library", {}), call("long_refusal", {}), "end"]
    model, server = claude_code(script, tool_execution="agent")
    agent = Agent(model, toolsets=[toolset])
    running: list[int] = []

    @agent.tool_plain
    def count() -> str:
        """How many processes run."""
        running.append(len(cli_processes()))
        return "counted"

    assert (await agent.run("Show me.")).output == "end"
    assert server.refusals == []
    results = of_tools(server)
    pdf = {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(PDF).decode()}
    assert results["report"]["content"] == [{"type": "document", "source": pdf}]
    assert results["photo_link"]["content"] == [
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    ]
    assert texts(results["table"]) == CSV.decode()
    assert texts(results["book"]) == "長" * 600_000
    assert results["gallery"]["content"] == [{"type": "text", "text": "x" * 150_000}, PICTURE]
    assert "counted" in texts(results["count"])
    assert "image" in [block["type"] for block in results["poster"]["content"]]
    assert results["library"]["is_error"]
    assert "tool 'library' has 2,000,001 characters, and the model can be shown 2,000,000" in texts(results["library"])
    assert "no " * 4_999 in texts(results["long_refusal"])
    assert results["long_refusal"]["is_error"]
    assert running == [1]  # the CLI that could not be given the results has ended


@given(st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_only_short_text_and_images_travel_by_mcp(texts: int, images: int, is_error: bool) -> None:
    content: list[dict[str, Any]] = [{"type": "text", "text": "😀" * 20_000}] * texts + [PICTURE] * images
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": "1", "content": content, "is_error": is_error}
    beside = {"type": "text", "text": "x" * 600_000}  # of the user: no result
    longest = 10_000 if is_error else 100_000 if images else 500_000
    assert results_fit_mcp([result, beside]) is (texts * 40_000 <= longest)


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        (BinaryContent(WAV, media_type="audio/wav"), "audio/wav"),
        (BinaryContent(b"II", media_type="image/tiff"), "image/tiff"),
        (AudioUrl("https://example.com/a.mp3"), "audio/mpeg"),
        (DocumentUrl("https://example.com/a.docx"), "wordprocessingml"),
    ],
)
def test_content_that_claude_cannot_read_is_refused_by_its_type(item: Any, kind: str) -> None:
    with pytest.raises(UserError, match=f"cannot read '.*{kind}.*' content. Send text, images as PNG"):
        content_blocks(item)


async def test_a_document_whose_type_nobody_knows_is_left_to_the_api() -> None:
    url = DocumentUrl("https://example.com/paper")
    request = ModelRequest(parts=[UserPromptPart([url])])
    assert await with_downloads([request], {}) == [request]
    assert content_blocks(url) == [{"type": "document", "source": {"type": "url", "url": url.url}}]


def test_text_files_are_read_in_their_own_encoding_or_refused() -> None:
    text = "日本語"
    for media_type, data in [
        ("text/plain", text.encode()),
        ("text/plain; charset=shift_jis", text.encode("shift_jis")),
        ("text/plain", text.encode("utf-8-sig")),
        ("text/plain", text.encode("utf-16")),
        ("application/xml", text.encode()),
        ("application/geo+json", text.encode()),
    ]:
        assert content_blocks(BinaryContent(data, media_type=media_type)) == [{"type": "text", "text": text}]
    with pytest.raises(UserError, match=r"'text/plain' content '.*' is neither UTF-8 nor in the charset"):
        content_blocks(BinaryContent(text.encode("shift_jis"), media_type="text/plain"))


# An MCP server runs the tools


@pytest.mark.cli
async def test_what_mcp_cannot_carry_is_read_as_text_or_refused_in_mcp_mode(claude_code: ClaudeCode) -> None:
    names = ("report", "photo_link", "table", "book", "song", "photo", "gallery", "long_refusal", "poster")
    model, server = claude_code([*(call(name, {}) for name in names), say("end"), say("again")])
    model.set_agent_toolsets(toolset)
    agent = Agent(model, toolsets=[toolset])
    run = await agent.run("Show me.")
    assert run.output == "end"
    results = of_tools(server)
    said = {name: texts(result) for name, result in results.items()}
    files = {
        "report": "a file of type application/pdf (attachment:report.pdf, 68 bytes). Return its text.",
        "song": "audio/wav (audio, 12 bytes). Return text, or an image as PNG",
        "photo_link": "the image at https://example.com/a.png. Return its bytes as `BinaryContent`",
        "book": "has 600,000 characters, and the model can be shown 500,000 at once. Return less, or in parts",
        "gallery": "has 150,000 characters, and the model can be shown 100,000 beside an image at once.",
    }
    for name, refusal in files.items():
        assert refusal in said[name]
        assert results[name]["is_error"]
    for name in ("report", "photo_link", "book"):
        assert '`ClaudeCodeModel(tool_execution="agent")` carries it as it is.' in said[name]
    assert "image" in [block["type"] for block in results["poster"]["content"]]
    assert CSV.decode() in said["table"]
    assert "points.csv" in said["table"]
    assert "a dot" in said["photo"]
    assert PICTURE in results["photo"]["content"]
    assert said["long_refusal"].startswith("This result is an error:\n")
    assert said["long_refusal"].count("no ") == 5_000
    for name, text in said.items():  # images are shown, and named by their path as well
        assert "saved to" not in text.replace("Image: source", ""), name

    history = ModelMessagesTypeAdapter.validate_json(run.all_messages_json())
    parts = [part for message in history for part in message.parts if isinstance(part, NativeToolReturnPart)]
    shown = next(part for part in parts if part.tool_name.endswith("__photo"))
    assert [cast("BinaryContent", file).data for file in shown.files] == [PIXEL]
    assert (await agent.run("Again.", message_history=history)).output == "again"
    replayed = of_tools(server)["photo"]
    assert PICTURE in replayed["content"]
    assert PICTURE["source"]["data"] not in texts(replayed)
    assert server.refusals == []


# Downloads


class Files(LoopbackServer):
    """A web site with one picture and one text."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def handle(self, exchange: Exchange) -> None:
        self.asked.append(exchange.path)
        body, kind = (PIXEL, "image/png") if exchange.path.endswith(".png") else (CSV, "text/plain")
        exchange.answer(200, body, {"content-type": kind})


@pytest.fixture
def files() -> Iterator[Files]:
    with Files() as files:
        yield files


@pytest.mark.cli
@pytest.mark.parametrize("execution", ["agent", "mcp"])
async def test_files_are_downloaded_once_a_run_where_that_was_asked_for(
    claude_code: ClaudeCode, files: Files, execution: Literal["mcp", "agent"]
) -> None:
    model, server = claude_code([call("picture", {}), call("picture", {}), say("end")], tool_execution=execution)
    agent = Agent(model)

    @agent.tool_plain
    def picture() -> ImageUrl:
        """A picture."""
        return ImageUrl(f"{files.url}/a.png", force_download="allow-local")

    model.set_agent_toolsets(agent._function_toolset)
    prompt = ["Look.", ImageUrl(f"{files.url}/b.png", force_download="allow-local")]
    text = DocumentUrl(f"{files.url}/c.txt", force_download="allow-local")
    assert (await agent.run([*prompt, text])).output == "end"
    asked = server.requests[0].messages[0]["content"]
    assert [block for block in asked if block["type"] == "image"] == [PICTURE]
    assert CSV.decode() in [block.get("text") for block in asked]
    assert PICTURE in of_tools(server)["picture"]["content"]
    downloads = ["/b.png", "/c.txt", "/a.png"]
    assert files.asked == (downloads if execution == "agent" else [*downloads, "/a.png"])


async def test_a_download_into_the_own_network_needs_leave(claude_code: ClaudeCode, files: Files) -> None:
    model, server = claude_code([])
    url = f"{files.url}/a.png"
    with pytest.raises(UserError, match=f"The file at {url} could not be downloaded .*Send its bytes"):
        await Agent(model).run([ImageUrl(url, force_download=True)])
    with pytest.raises(UserError, match="could not be downloaded"):  # the API takes no text by URL
        await Agent(model).run([DocumentUrl(f"{files.url}/a.txt")])
    assert (files.asked, server.requests) == ([], [])


def test_results_that_are_errors_keep_their_images() -> None:
    content = ["no", BinaryContent(PIXEL, media_type="image/png")]
    block = _tool_result(ToolReturnPart("t", content, "1", outcome="failed"))
    assert block["content"] == [
        {"type": "text", "text": "This result is an error:"},
        {"type": "text", "text": "no"},
        PICTURE,
    ]
    assert "is_error" not in block  # beside which the API takes only text
