"""Glossaries of one's own: what they may look like, and what they find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hikidashi.errors import ToolSearchError
from hikidashi.search import ToolCatalog
from hikidashi.search.engine.glossary import Glossary


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("start the party", []),
        ("the art of it", ["art"]),
        ("art", ["art"]),
        ("artful", []),
        ("art-deco", ["art"]),
        ("現代artです", ["art"]),
        ("ежедневный план", ["план"]),
        ("планета", []),
        ("일정을 추가해줘", ["일정"]),
    ],
)
def test_in_scripts_with_spaces_a_word_stands_alone(text: str, found: list[str]) -> None:
    glossary = Glossary({"art": ["draw"], "план": ["plan"], "일정": ["schedule"]})
    assert [word for word, _ in glossary.found_in(text)] == found


@pytest.mark.parametrize("content", ["\ufeffwetter \t weather\r\n \t\r\n# note\r\n", "Wetter\tweather\tnote\n\n"])
def test_a_file_may_come_from_any_editor(tmp_path: Path, content: str) -> None:
    file = tmp_path / "de.tsv"
    file.write_text(content, encoding="utf-8", newline="")
    catalog = ToolCatalog([{"name": "weather"}, {"name": "mail"}], glossary=file)
    assert [match.why for match in catalog.search("Wetter")] == [{"name": ("wetter→weather",)}]


@pytest.mark.parametrize("line", ["wetter", "wetter\t", "wetter\t | ", "\tweather", " \tweather"])
def test_a_line_without_a_word_or_its_english_is_refused(line: str) -> None:
    with pytest.raises(ToolSearchError) as caught:
        Glossary.read(f"a\tb\n{line}\n", "de.tsv")
    assert str(caught.value) == (
        f"Line 2 of de.tsv is {line!r}: write a word, a tab, and English words divided by `|`."
    )


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "No such file"), (b"wetter\t\xff", "codec can't decode byte 0xff")]
)
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, content: bytes | None, reason: str) -> None:
    file = tmp_path / "de.tsv"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ToolSearchError) as caught:
        ToolCatalog(glossary=file)
    assert caught.value.code == "unavailable"
    assert str(caught.value).startswith(f"The glossary {str(file)!r} cannot be read (")
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("glossary", "told"),
    [
        ({"wetter": 5}, "The glossary has 5 where text should be"),
        ({"wetter": ["weather", None]}, "The glossary has None where text should be"),
        ({5: "weather"}, "The glossary has 5 where text should be"),
        (["wetter"], "The glossary \"['wetter']\" cannot be read"),
    ],
)
def test_what_is_no_glossary_is_refused(glossary: Any, told: str) -> None:
    with pytest.raises(ToolSearchError) as caught:
        ToolCatalog(glossary=glossary)
    assert told in str(caught.value)
