"""Many tools are embedded in a thread; until all have vectors, they are found by words."""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest

from hikidashi.errors import ToolSearchError
from hikidashi.search import Embedder, ToolCatalog
from hikidashi.search.engine import meaning, saved
from hikidashi.search.preload import MessageSearch

MANY = [{"name": f"tool_{number}", "description": f"mail number {number}"} for number in range(200)]
FEW = [{"name": "get_weather", "description": "Weather forecast"}]


class Slow:
    """Embeds lists of texts once it is let; questions and single texts at once."""

    def __init__(self) -> None:
        self.let = threading.Event()
        self.embedded: list[str] = []
        self.error: Exception | None = None

    def __call__(self, texts: list[str]) -> list[list[float]]:
        if len(texts) > 1:
            assert self.let.wait(60)
            self.embedded += texts
            if self.error is not None:
                raise self.error
        return [[1.0, 1.0 if "forecast" in text or "umbrella" in text else 0.0] for text in texts]


@pytest.fixture
def slow() -> Slow:
    return Slow()


def test_a_large_catalogue_is_searched_by_words_until_every_tool_has_its_vector(slow: Slow) -> None:
    catalog = ToolCatalog([*MANY, *FEW], embed=slow)
    (found,) = catalog.search("show a forecast")
    assert (found.name, found.by_words, found.by_meaning) == ("get_weather", 1.0, 0.0)
    assert not catalog.ready(timeout=0)
    slow.let.set()
    seen: list[tuple[int, int]] = []
    assert catalog.ready(progress=lambda done, total: seen.append((done, total)))
    assert (seen[-1], sorted(seen) == seen) == ((201, 201), True)
    best = catalog.search("show a forecast")[0]
    assert best.name == "get_weather"
    assert 0 < best.by_meaning < 1
    assert best.by_words + best.by_meaning == 1
    assert len(slow.embedded) == 201


def test_tools_that_the_encoder_knows_are_found_by_meaning_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    refund = {"name": "refund_payment", "description": "Refund a payment"}
    new = ToolCatalog([*MANY, refund])
    assert new.search("refund a payment")[0].by_meaning == 0  # embedded in a thread meanwhile
    assert new.ready()
    assert ToolCatalog([*MANY, refund]).search("give the money back")[0].by_meaning > 0


def test_any_number_of_seconds_is_waited_for_and_nothing_else(slow: Slow) -> None:
    catalog = ToolCatalog(MANY, embed=slow)
    assert not catalog.ready(timeout=-1)
    wrongs: list[Any] = ["5", [], True, float("nan")]
    for wrong in wrongs:
        for each in (catalog, ToolCatalog(FEW, ranker="lexical")):
            with pytest.raises(ToolSearchError, match=r"`timeout` is .*: use a number of seconds, or None"):
                each.ready(timeout=wrong)
    slow.let.set()
    assert catalog.ready(timeout=float("inf"))
    assert catalog.ready(timeout=10**400)


def test_what_a_message_found_by_words_alone_is_not_remembered(slow: Slow) -> None:
    catalog = ToolCatalog([*MANY, *FEW], embed=slow, glossary=False)
    messages = MessageSearch(catalog)
    assert (catalog.is_ready, messages.rankings("bring an umbrella to the office")) == (False, [])
    slow.let.set()
    assert catalog.ready()
    assert (catalog.is_ready, messages.rankings("bring an umbrella to the office")[0][0]) == (True, "get_weather")
    catalog.add({"name": "other", "description": "Other."})
    assert not catalog.is_ready
    assert messages.rankings("bring an umbrella to the office")[0][0] == "get_weather"


def test_what_a_message_found_is_searched_for_once() -> None:
    for catalog in (ToolCatalog(FEW, ranker="lexical"), ToolCatalog(FEW)):
        assert catalog.ready()
        messages = MessageSearch(catalog)
        first = messages.rankings("what is the weather forecast?")
        assert first == [["get_weather"]]
        assert messages.rankings("what is the weather forecast?") is first


def test_nothing_is_waited_for_where_tools_are_ranked_by_words() -> None:
    assert ToolCatalog(MANY, ranker="lexical").ready()
    assert ToolCatalog(embed=Slow()).ready()


def test_tools_that_come_and_go_meanwhile_are_right_in_the_end(slow: Slow) -> None:
    catalog = ToolCatalog(MANY, embed=slow)
    for tool in MANY[:180]:  # so many that the numbers of the others change
        catalog.remove(tool["name"])
    catalog.add(FEW[0])
    slow.let.set()
    assert catalog.ready()
    assert catalog.search("umbrella")[0].name == "get_weather"
    assert catalog.search("mail number 190")[0].name == "tool_190"


def test_few_new_tools_are_embedded_by_the_search_itself(slow: Slow) -> None:
    slow.let.set()
    catalog = ToolCatalog(MANY, embed=slow)
    assert catalog.ready()
    catalog.add(FEW[0])
    assert catalog.search("umbrella")[0].name == "get_weather"


def test_a_failure_in_the_thread_is_raised_by_whoever_waits_and_by_the_next_search(slow: Slow) -> None:
    slow.error = TimeoutError("try later")
    catalog = ToolCatalog(MANY, embed=slow)
    slow.let.set()
    with pytest.raises(TimeoutError):
        catalog.ready()
    with pytest.raises(TimeoutError):
        catalog.search("read the mail")
    slow.error = None
    assert catalog.search("read the mail")
    assert catalog.ready()


def test_a_failure_in_the_thread_of_a_default_is_logged_and_words_go_on(
    slow: Slow, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    slow.error = ValueError("no more memory")
    slow.let.set()
    monkeypatch.setattr(meaning, "_warned", set[str]())
    monkeypatch.setattr(meaning, "embedder_of", {None: Embedder(embed=slow)}.get)
    catalog = ToolCatalog([*MANY, *FEW])
    with caplog.at_level(logging.WARNING, "hikidashi"):
        assert catalog.ready()
    assert (catalog.ranker, catalog.search("forecast")[0].name) == ("lexical", "get_weather")
    assert [record.getMessage().count("no more memory") for record in caplog.records] == [1]


def test_two_catalogues_at_once_share_what_either_has_embedded(slow: Slow, tmp_path: Path) -> None:
    embedder = Embedder(embed=slow, id="toy", cache=tmp_path / "vectors")
    first, second = (ToolCatalog(MANY, embed=embedder) for _ in range(2))
    slow.let.set()
    assert first.ready()
    assert second.ready()
    assert len(set(slow.embedded)) == 200
    slow.embedded.clear()
    assert ToolCatalog(MANY, embed=embedder).ready(timeout=0)
    assert slow.embedded == []


def test_a_catalogue_is_saved_while_its_tools_are_embedded(slow: Slow, tmp_path: Path) -> None:
    embedder = Embedder(embed=slow, id="toy", cache=tmp_path / "vectors")
    catalog = ToolCatalog([*MANY, *FEW], embed=embedder)
    catalog.save(tmp_path / "tools")
    slow.let.set()
    loaded = ToolCatalog.load(tmp_path / "tools", embed=embedder)
    assert catalog.ready()
    assert loaded.ready()
    assert loaded.search("umbrella")[0].name == "get_weather"


def test_a_catalogue_that_is_saved_meanwhile_keeps_the_vectors_that_are_made(tmp_path: Path) -> None:
    halfway, let = threading.Event(), threading.Event()
    embedded: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        if len(embedded) > 100:
            halfway.set()
            assert let.wait(60)
        embedded.extend(texts)
        return [[1.0, 0.0] for _ in texts]

    model = Embedder(embed=embed, id="toy", cache=Path("/dev/null/nowhere"))
    catalog = ToolCatalog(MANY, embed=model)
    catalog.remove("tool_0")  # so that the others are renumbered for the file
    assert halfway.wait(60)
    catalog.save(tmp_path / "tools")
    kept = saved.read(tmp_path / "tools").vectors
    assert kept is not None
    assert 90 < len(kept.rows) < len(MANY) - 1
    let.set()
    assert catalog.ready()
    catalog.save(tmp_path / "tools")
    kept = saved.read(tmp_path / "tools").vectors
    assert kept is not None
    assert sorted(kept.rows) == list(range(len(MANY) - 1))


def test_a_catalogue_that_was_never_searched_is_saved_with_all_vectors_once_it_is_ready(tmp_path: Path) -> None:
    catalog = ToolCatalog(FEW)
    catalog.save(tmp_path / "tools")
    assert saved.read(tmp_path / "tools").vectors is None
    assert catalog.ready()
    catalog.save(tmp_path / "tools")
    kept = saved.read(tmp_path / "tools").vectors
    assert kept is not None
    assert list(kept.rows) == [0]


def test_the_thread_ends_with_its_catalogue(slow: Slow) -> None:
    before = set(threading.enumerate())
    catalog = ToolCatalog(MANY, embed=slow)
    gone = weakref.ref(catalog)
    (thread,) = [one for one in threading.enumerate() if one.name == "hikidashi-embeddings" and one not in before]
    del catalog
    gc.collect()
    assert gone() is None
    slow.let.set()
    thread.join(60)
    assert len(slow.embedded) <= 32


def test_an_interpreter_that_ends_meanwhile_ends_in_peace(tmp_path: Path) -> None:
    script = """
import sys
from hikidashi.search import ToolCatalog
catalog = ToolCatalog([{"name": f"tool_{n}", "description": f"mail number {n}"} for n in range(3000)])
print(len(catalog.search("mail number")), catalog.ready(timeout=0.2))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3 False\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_forked_process_embeds_what_is_missing_itself() -> None:
    script = """
import os, sys
from hikidashi.search import ToolCatalog
tools = [{"name": f"tool_{n}", "description": f"mail number {n}"} for n in range(150)]
catalog = ToolCatalog([*tools, {"name": "get_weather", "description": "Weather forecast"}])
catalog.search("read the mail")
child = os.fork()
if child == 0:
    assert catalog.ready()
    assert catalog.search("will it rain tomorrow")[0].by_meaning > 0
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
