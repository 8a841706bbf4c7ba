"""Vectors in a saved catalogue."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hikidashi.errors import ToolSearchError
from hikidashi.search import Embedder, ToolCatalog
from hikidashi.search.engine import saved
from hikidashi.search.engine.index import Index
from hikidashi.search.engine.meaning import StoredVectors
from hikidashi.search.engine.rows import Rows

TOOLS = [{"name": f"tool_{number}", "description": f"mail number {number}"} for number in range(5)]


def embedder(asked: list[str], name: str = "toy") -> Embedder:
    def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[1.0, len(text)] for text in texts]

    def question(texts: list[str]) -> list[list[float]]:
        return [[0.0, 1.0] for _ in texts]

    return Embedder(embed=embed, question=question, id=name, cache=Path("/dev/null/nowhere"))


def test_a_saved_catalogue_has_its_vectors(tmp_path: Path) -> None:
    saved = ToolCatalog(TOOLS, embed=embedder([]))
    saved.remove("tool_1")
    saved.search("mail")
    saved.save(tmp_path / "tools")
    asked: list[str] = []
    loaded = ToolCatalog.load(tmp_path / "tools", embed=embedder(asked))
    assert asked == ["tool"]
    assert [(m.name, m.score) for m in loaded.search("mail")] == [(m.name, m.score) for m in saved.search("mail")]
    assert asked == ["tool"]
    changed = [TOOLS[0], {"name": "tool_2", "description": "other mail"}]
    bound = ToolCatalog.load(tmp_path / "tools", embed=embedder(asked), tools=changed)
    assert (asked, bound.names) == (["tool", "tool", "tool 2. other mail"], ["tool_0", "tool_2"])


def test_vectors_of_another_model_are_made_anew(tmp_path: Path) -> None:
    ToolCatalog(TOOLS, embed=embedder([])).save(tmp_path / "tools")
    asked: list[str] = []
    ToolCatalog.load(tmp_path / "tools", embed=embedder(asked, "other"))
    assert len(asked) == 1 + len(TOOLS)
    assert len(ToolCatalog.load(tmp_path / "tools", ranker="lexical")) == 5


def test_vectors_of_another_length_under_the_same_name_are_made_anew(tmp_path: Path) -> None:
    ToolCatalog(TOOLS, embed=embedder([])).save(tmp_path / "tools")
    longer = Embedder(embed=lambda texts: [[1.0, 2.0, 3.0]] * len(texts), id="toy", cache=tmp_path / "vectors")
    loaded = ToolCatalog.load(tmp_path / "tools", embed=longer)
    assert len(loaded.search("mail")) == 5


@pytest.mark.parametrize("vectors", [b"not JSON\n", b"{}\n", b"[]\n", b'{"model":"toy","numbers":[[1]]}\n', b"\xff\n"])
def test_vectors_that_are_not_what_was_saved_are_refused(tmp_path: Path, vectors: bytes) -> None:
    """Whatever wrote the file, with a checksum that is right."""

    class Written(StoredVectors):
        def to_bytes(self) -> bytes:
            return vectors

    path = tmp_path / "tools"
    saved.write(path, Rows(), Index(), Written("toy", {}))
    with pytest.raises(ToolSearchError, match=r"The catalogue '.*tools' is damaged. Build it again and save it."):
        ToolCatalog.load(path)


def test_a_catalogue_that_was_not_searched_keeps_the_vectors_of_its_file(tmp_path: Path) -> None:
    catalog = ToolCatalog(TOOLS)
    assert catalog.ready()
    catalog.save(tmp_path / "first")
    again = ToolCatalog.load(tmp_path / "first")
    again.remove("tool_0")
    again.save(tmp_path / "second")
    rows = len(TOOLS) - 1
    assert (tmp_path / "second").stat().st_size > rows * 2 * 384


def test_a_file_with_vectors_needs_no_numpy(tmp_path: Path) -> None:
    ToolCatalog(TOOLS, embed=embedder([])).save(tmp_path / "tools")
    script = """
import sys
sys.modules["numpy"] = sys.modules["hikidashi_encoder"] = None
from hikidashi.search import ToolCatalog
catalog = ToolCatalog.load(sys.argv[1])
catalog.save(sys.argv[1])
print(catalog.ranker, len(ToolCatalog.load(sys.argv[1]).search("mail")))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "tools")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "lexical 3\n"
