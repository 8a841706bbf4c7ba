"""Which ranker a catalogue gets, and when the model is loaded."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hikidashi.errors import MissingExtra, ToolSearchError
from hikidashi.search import ToolCatalog
from hikidashi.search.engine import embeddings, meaning

TOOLS = [
    {"name": "open_ticket", "description": "Report a defect in the software."},
    {"name": "book_flight", "description": "Reserve a seat on an airplane."},
]
QUESTION = "flying with an airline"


@pytest.fixture
def a_new_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing was loaded, and nothing was warned of."""
    monkeypatch.setattr(meaning, "_warned", set[str]())
    for module in [name for name in sys.modules if name.partition(".")[0] == "hikidashi_encoder"]:
        monkeypatch.delitem(sys.modules, module)
    for loaded in (embeddings._loaded, embeddings._encoder):  # pyright: ignore[reportPrivateUsage]
        loaded.cache_clear()
    yield
    for loaded in (embeddings._loaded, embeddings._encoder):  # pyright: ignore[reportPrivateUsage]
        loaded.cache_clear()


def test_by_meaning_is_the_default_where_the_encoder_is_installed() -> None:
    catalog = ToolCatalog(TOOLS, glossary=False)
    assert (catalog.ranker, [match.name for match in catalog.search(QUESTION)]) == ("hybrid", ["book_flight"])
    assert ToolCatalog(TOOLS, ranker="lexical").ranker == "lexical"


def test_by_words_is_the_default_where_it_is_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ToolCatalog(TOOLS).save(tmp_path / "tools")
    monkeypatch.setitem(sys.modules, "hikidashi_encoder", None)
    assert ToolCatalog(TOOLS).ranker == ToolCatalog.load(tmp_path / "tools").ranker == "lexical"
    with pytest.raises(MissingExtra, match=r"pip install hikidashi"):
        ToolCatalog(ranker="hybrid")


def test_the_environment_decides_for_auto_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIKIDASHI_RANKER", "lexical")
    assert ToolCatalog(TOOLS).ranker == "lexical"
    assert ToolCatalog(ranker="hybrid").ranker == "hybrid"
    assert ToolCatalog(embed=lambda texts: [[1.0] for _ in texts]).ranker == "hybrid"
    monkeypatch.setenv("HIKIDASHI_RANKER", "")
    assert ToolCatalog().ranker == "hybrid"
    monkeypatch.setenv("HIKIDASHI_RANKER", "magic")
    with pytest.raises(ToolSearchError, match=r"HIKIDASHI_RANKER is 'magic': unset it, or set it to lexical or hybrid"):
        ToolCatalog()
    assert ToolCatalog(ranker="lexical").ranker == "lexical"


def test_the_encoder_is_loaded_by_a_search_that_needs_it_and_by_nothing_else(tmp_path: Path) -> None:
    script = """
import sys
import hikidashi
from hikidashi.search import ToolCatalog
catalog = ToolCatalog([{"name": "send_mail", "description": "Send an email"}])
ToolCatalog(ranker="hybrid").ready()
list(catalog), catalog.names, catalog.search_regex("mail"), catalog.search("select:send_mail")
catalog.save(sys.argv[1])
loaded = ToolCatalog.load(sys.argv[1])
before = {"numpy", "hikidashi_encoder.network"} & sys.modules.keys()
loaded.search("post a letter")
print(sorted(before), "hikidashi_encoder.network" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "tools")], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("[] True\n", "")


@pytest.mark.usefixtures("a_new_process")
def test_an_encoder_without_what_it_needs_is_warned_of_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    catalogs = [ToolCatalog(TOOLS), ToolCatalog(TOOLS)]
    with caplog.at_level(logging.WARNING, "hikidashi"):
        for catalog in catalogs:
            assert [match.name for match in catalog.search("a new ticket")] == ["open_ticket"]
        assert all(catalog.ready() for catalog in catalogs)
    assert [catalog.ranker for catalog in catalogs] == ["lexical"] * 2
    (warning,) = [record.getMessage() for record in caplog.records]
    assert "`numpy` is not installed. Run: pip install hikidashi" in warning
    assert "HIKIDASHI_RANKER=lexical" in warning
    with pytest.raises(MissingExtra, match="numpy"):
        ToolCatalog(TOOLS, ranker="hybrid")


@pytest.mark.usefixtures("a_new_process")
def test_a_damaged_encoder_is_warned_of_or_refused(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("hikidashi_encoder._WEIGHTS", "missing.npz")
    with caplog.at_level(logging.WARNING, "hikidashi"):
        assert ToolCatalog(TOOLS).search("a new ticket")[0].name == "open_ticket"
    assert "pip install --force-reinstall hikidashi-encoder" in caplog.text
    with pytest.raises(ToolSearchError, match=r"missing\.npz is missing.*force-reinstall") as caught:
        ToolCatalog(TOOLS, ranker="hybrid")
    assert caught.value.code == "unavailable"
