"""A large catalogue: its tools are checked at once, and its index is built in a thread that readers wait for."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread, main_thread
from threading import enumerate as running_threads
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikidashi.errors import ToolSearchError, ToolValidationError
from hikidashi.search import ToolCatalog
from hikidashi.search.engine import index

VERBS = ["send", "list", "delete", "archive", "translate", "schedule", "refund"]
OBJECTS = ["mail", "invoice", "calendar event", "customer", "repository", "天気予報", "factura", "PDF file"]
LARGE: list[dict[str, Any]] = [
    {
        "name": f"{VERBS[n % 7]}_{OBJECTS[n % 8].replace(' ', '_')}_{n}",
        "description": f"{VERBS[n % 7].title()} a {OBJECTS[n % 8]} of team {n % 31}.",
        "input_schema": {"type": "object", "properties": {f"field{n % 5}": {"description": f"Part {n % 3} of it"}}},
    }
    for n in range(60)
]
ONE_MORE = {"name": "water_plants", "description": "Water the plants on the balcony"}
QUESTIONS = ["send a mail", "sennd an invioce", "天気予報", "delete_customer_3", "refund the invoice of team 7"]


@pytest.fixture(autouse=True)
def by_words(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """What is about the index has nothing to wait for but the index."""
    monkeypatch.setenv("HIKIDASHI_RANKER", "lexical")


class Gate(str):
    """A description that is analysed only once the gate is open."""

    __slots__ = ("analysed", "opened")

    def __new__(cls, text: str) -> Gate:
        this = super().__new__(cls, text)
        this.opened, this.analysed = Event(), Event()
        return this

    def isascii(self) -> bool:
        assert self.opened.wait(60)
        self.analysed.set()
        return super().isascii()


class Unreadable(str):
    """A description that cannot be analysed."""

    __slots__ = ()

    def isascii(self) -> bool:
        raise LookupError("this text is unreadable")


@pytest.fixture(autouse=True, scope="module")
def sixty_tools_are_many() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "_LARGE", 50)
        yield


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate("Water the plants on the balcony")
    yield gate
    gate.opened.set()


def built_at_once(tools: list[dict[str, Any]]) -> ToolCatalog:
    """The same catalogue without a thread: few tools at first, then the others one by one."""
    catalog = ToolCatalog(tools[:40])
    for tool in tools[40:]:
        catalog.add(tool)
    return catalog


def answers(catalog: ToolCatalog) -> list[Any]:
    found = [catalog.explain(question, limit=10) for question in QUESTIONS]
    return [[(match.name, match.score, match.doubt) for match in one.matches] for one in found]


def index_threads() -> list[Thread]:
    return [thread for thread in running_threads() if thread.name == "hikidashi-index"]


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        ({"description": "no name"}, ToolValidationError),
        ({"name": "listed", "input_schema": ["not", "an", "object"]}, ToolValidationError),
        ({"name": "numbered", "input_schema": {"type": "integer"}}, ToolValidationError),
        (LARGE[0], ToolValidationError),
    ],
)
def test_a_broken_tool_among_many_is_refused_at_once(broken: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error) as small:
        ToolCatalog([LARGE[0], broken])
    with pytest.raises(error) as large:
        ToolCatalog([*LARGE, broken])
    assert str(large.value) == str(small.value).replace("position 1", f"position {len(LARGE)}").replace(
        "number 1 is", f"number {len(LARGE)} is"
    )


def test_more_tools_than_the_limit_are_refused_at_once() -> None:
    with pytest.raises(ToolSearchError, match="would be one more"):
        ToolCatalog(LARGE, limit_tools=len(LARGE) - 1)


def test_a_search_at_once_answers_as_one_later_and_as_a_catalogue_built_tool_by_tool(tmp_path: Path) -> None:
    catalog = ToolCatalog(LARGE)
    first = answers(catalog)
    assert first == answers(catalog) == answers(built_at_once(LARGE))
    ToolCatalog(LARGE).save(tmp_path / "at once")
    catalog.save(tmp_path / "later")
    assert (tmp_path / "at once").read_bytes() == (tmp_path / "later").read_bytes()
    assert answers(ToolCatalog.load(tmp_path / "at once")) == first


def test_names_tools_and_patterns_need_no_index_and_searches_wait_for_it(gate: Gate) -> None:
    catalog = ToolCatalog([*LARGE, {"name": "water_plants", "description": gate}])
    version = catalog.version
    found: list[str] = []
    searching = Thread(target=lambda: found.extend(match.name for match in catalog.search("water plants", limit=1)))
    searching.start()
    assert (len(catalog), catalog.names[-1], "water_plants" in catalog) == (len(LARGE) + 1, "water_plants", True)
    assert catalog.get("water_plants") == {"name": "water_plants", "description": gate}
    assert catalog.search("select:water_plants")[0].name == "water_plants"
    assert not catalog.ready(timeout=0)
    assert not found
    gate.opened.set()
    searching.join()
    assert (found, catalog.ready(), catalog.version) == (["water_plants"], True, version)
    assert not index_threads()


def test_a_change_right_after_is_seen_by_the_next_search() -> None:
    catalog = ToolCatalog(LARGE)
    catalog.add(ONE_MORE)
    catalog.remove(LARGE[0]["name"])
    assert answers(catalog) == answers(built_at_once([*LARGE[1:], ONE_MORE]))
    assert catalog.search("water the plants")[0].name == "water_plants"


Step = Callable[[ToolCatalog], object]
STEPS: dict[str, Step] = {
    "add": lambda catalog: catalog.add(ONE_MORE),
    "remove first": lambda catalog: catalog.remove(catalog.names[0]),
    "remove last": lambda catalog: catalog.remove(catalog.names[-1]),
    "search": answers,
    "pattern": lambda catalog: [match.name for match in catalog.search_regex("mail_")],
    "version": lambda catalog: catalog.version,
}


@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=5))
@settings(max_examples=15, deadline=None)
def test_any_steps_in_any_order_give_what_they_give_without_a_thread(steps: list[str]) -> None:
    catalogues = [ToolCatalog(LARGE), built_at_once(LARGE)]
    outcomes: list[list[object]] = [[], []]
    for step in steps:
        for catalog, outcome in zip(catalogues, outcomes, strict=True):
            try:
                outcome.append(STEPS[step](catalog))
            except ToolValidationError as error:
                outcome.append(str(error))
    assert outcomes[0] == outcomes[1]
    assert list(catalogues[0]) == list(catalogues[1])


def test_an_error_of_the_analysis_is_raised_by_the_search_and_the_tool_can_be_found_by_name() -> None:
    catalog = ToolCatalog([*LARGE, {"name": "odd_tool", "description": Unreadable("x")}])
    for _ in range(2):
        with pytest.raises(LookupError, match="this text is unreadable"):
            catalog.search("send a mail")
    with pytest.raises(LookupError, match="this text is unreadable"):
        catalog.ready()
    assert catalog.search("select:odd_tool")[0].name == "odd_tool"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no signals to threads")
def test_a_search_that_is_interrupted_while_it_waits_leaves_the_catalogue_whole(gate: Gate) -> None:
    catalog = ToolCatalog([*LARGE, {"name": "water_plants", "description": gate}])
    ident = main_thread().ident
    assert ident is not None

    def interrupted() -> None:
        Thread(target=lambda: signal.pthread_kill(ident, signal.SIGINT)).start()
        catalog.add(ONE_MORE | {"name": "another"})

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    gate.opened.set()
    assert catalog.names[-1] == "water_plants"
    assert catalog.search("water plants")[0].name == "water_plants"


def test_the_thread_of_a_catalogue_that_nobody_has_any_more_ends_early() -> None:
    first, last = Gate("Water the plants"), Gate("Feed the cat")
    catalog = ToolCatalog([{"name": "first", "description": first}, *LARGE, {"name": "last", "description": last}])
    (thread,) = index_threads()
    del catalog
    gc.collect()
    first.opened.set()
    last.opened.set()
    thread.join()
    assert not last.analysed.is_set()


def test_without_threads_the_index_is_built_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    expected = answers(built_at_once(LARGE))
    monkeypatch.setattr(Thread, "start", refused)
    assert answers(ToolCatalog(LARGE)) == expected


SCRIPT = """
import atexit, os
from hikidashi.search import ToolCatalog
catalog = ToolCatalog([{"name": f"send_mail_{n}", "description": f"Send mail number {n}"} for n in range(3000)])
"""


def outcome_of(script: str) -> tuple[int, str, str]:
    command = [sys.executable, "-W", "error", "-c", SCRIPT + script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
@pytest.mark.parametrize("wait", ["", "import hikidashi.search.engine.index as it; it._running.clear()"])
def test_a_forked_process_can_search_and_change_the_catalogue(wait: str) -> None:
    script = f"""
import warnings; warnings.simplefilter("ignore", DeprecationWarning)
{wait}
child = os.fork()
catalog.add({{"name": "water_plants", "description": "Water the plants"}})
assert catalog.search("water the plants")[0].name == "water_plants"
assert catalog.search("number 17")[0].name == "send_mail_17"
if child == 0:
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert outcome_of(script) == (0, "0\n", "")


@pytest.mark.parametrize(
    ("script", "printed"),
    [
        ("", ""),
        ("atexit.register(lambda: print(catalog.search('number 17')[0].name))", "send_mail_17\n"),
        (
            "class Last:\n    def __del__(self, c=catalog): print(c.search('number 17')[0].name)\nlast = Last()",
            "send_mail_17\n",
        ),
    ],
    ids=["at once", "in a handler at exit", "after the threads have ended"],
)
def test_the_interpreter_ends_while_the_index_is_built(script: str, printed: str) -> None:
    assert outcome_of(script) == (0, printed, "")
