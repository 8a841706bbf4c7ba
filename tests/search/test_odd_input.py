"""Values of the wrong type, at every function of `hikidashi.search`: an error that names the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hikidashi.search
from hikidashi import Tool, ToolResult
from hikidashi.errors import SearchLogError, ToolSearchError, ToolSourceError, ToolValidationError
from hikidashi.search import SearchLog, ToolCatalog, to_anthropic_search
from hikidashi.search.anthropic_blocks import reference_blocks
from hikidashi.search.anthropic_request import worth_it


async def call(_: dict[str, Any]) -> ToolResult:
    return ToolResult.of("sent")


TOOL = Tool(name="send_mail", description="Send a mail.", input_schema={"type": "object"}, call=call)
SEAMS = ("to_pydantic_ai_search", "to_strands_search", "to_claude_search", "to_mcp_search", "to_anthropic_search")


@pytest.mark.parametrize("offer", [ToolCatalog, worth_it, *(getattr(hikidashi.search, name) for name in SEAMS)])
@pytest.mark.parametrize("tools", [5, "send_mail", TOOL, {"name": "send_mail"}])
def test_what_is_not_a_list_of_tools_is_refused(offer: Callable[[Any], object], tools: object) -> None:
    with pytest.raises((ToolValidationError, ValueError), match=r"Expected a list of tools|send_mail"):
        offer(tools)


@pytest.mark.parametrize("value", [-1, "5", None, float("nan"), 1.5, True])
@pytest.mark.parametrize("option", ["limit_tools", "limit_query"])
def test_a_limit_of_a_catalogue_is_a_whole_number(option: str, value: Any) -> None:
    with pytest.raises(ToolSearchError, match=f"`{option}` is .*: use a whole number"):
        ToolCatalog([TOOL], **{option: value})


def test_a_catalogue_looks_up_names_of_any_type() -> None:
    catalog = ToolCatalog([TOOL])
    odd: list[Any] = [None, 5, ["send_mail"], {}]
    assert [name in catalog for name in odd] == [False] * 4
    assert [catalog.get(name) for name in odd] == [None] * 4
    for name in odd:
        with pytest.raises(ToolSearchError, match=r"`name` is .*: it must be the name of a tool"):
            catalog.remove(name)


@pytest.mark.parametrize("language", ["de", None, [], 5])
@pytest.mark.parametrize("seam", SEAMS[:-1])
def test_an_unknown_language_is_refused(seam: str, language: object) -> None:
    with pytest.raises(ValueError, match=r"`language` is .*: use 'en' or 'ja'"):
        getattr(hikidashi.search, seam)([TOOL], language=language)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"usage": 5}, "`usage` is 5: use the calls of each tool"),
        ({"usage": ["send_mail"]}, "`usage` is "),
        ({"usage": {"send_mail": "often"}}, "`usage` is "),
        ({"betas": 5}, "`betas` is 5: use 'auto', 'off' or a list of headers"),
        ({"betas": [5]}, r"`betas` is \[5\]"),
        ({"mcp_toolsets": 5}, "`mcp_toolsets` is a int: use a list of toolsets"),
        ({"mcp_toolsets": {"name": "events"}}, "`mcp_toolsets` is a dict: use a list of toolsets"),
    ],
)
def test_an_option_of_the_messages_api_of_the_wrong_type_is_refused(given: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        to_anthropic_search([TOOL], **given)


@pytest.mark.parametrize("overlay", ["folder", "a\0b"])
def test_an_overlay_that_is_not_a_file_is_refused(tmp_path: Path, overlay: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ToolSourceError, match=r"is a folder\. Name an overlay|cannot be read"):
        ToolCatalog([TOOL], overlay=tmp_path / overlay)


@pytest.mark.parametrize("given", [{"max_age_days": "9"}, {"max_age_days": float("nan")}, {"max_records": "5"}])
def test_a_limit_of_a_log_of_the_wrong_type_is_refused(tmp_path: Path, given: dict[str, Any]) -> None:
    with pytest.raises(SearchLogError, match="cannot keep "):
        SearchLog(tmp_path / "log.db", **given)


@pytest.mark.parametrize("names", ["send_mail", None, 5])
def test_names_are_a_list_and_not_one_name(tmp_path: Path, names: Any) -> None:
    with pytest.raises(ValueError, match=r"`names` is .*: use a list of names"):
        reference_blocks(names)
    with SearchLog(tmp_path / "log.db") as log, pytest.raises(ValueError, match=r"`names` is .*: use a list of names"):
        log.searched("mail", "words", names)
