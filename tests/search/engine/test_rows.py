"""What is said about names that no tool has."""

from __future__ import annotations

import pytest

from hikidashi.errors import ToolSearchError
from hikidashi.search import ToolCatalog

CATALOG = ToolCatalog({"name": name} for name in ("getWeather", "send_mail", "send_mails", "list_files"))


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("select:get_weather", "No tool is named 'get_weather'. Did you mean 'getWeather'?"),
        ("select:send_male", "No tool is named 'send_male'. Did you mean 'send_mail' or 'send_mails'?"),
        ("select:unlike", "No tool is named 'unlike'. Search for it by words."),
        ("select:x,y,send_mial", "No tool is named 'x' or 'y' or 'send_mial'. Search for it by words."),
        ("select:x,y,LIST-FILES", "No tool is named 'x' or 'y' or 'LIST-FILES'. Did you mean 'list_files'?"),
    ],
)
def test_another_spelling_is_named_first_and_then_names_close_to_the_first_two(query: str, told: str) -> None:
    with pytest.raises(ToolSearchError) as caught:
        CATALOG.search(query)
    assert str(caught.value) == told


def test_a_list_of_other_spellings_is_kept_short() -> None:
    catalog = ToolCatalog({"name": f"tool_{number}"} for number in range(60))
    with pytest.raises(ToolSearchError) as caught:
        catalog.search("select:" + ",".join(f"TOOL{number}" for number in range(60)))
    assert str(caught.value).endswith("Did you mean 'tool_0' or 'tool_1' or 'tool_2' or 'tool_3' or 'tool_4'?")
