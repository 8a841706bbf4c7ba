"""The adapter of questions: applied, installed atomically, and ignored if its file is damaged."""

from __future__ import annotations

import io
import logging
import os
import sys
import zipfile
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ToolSearchError
from hikidashi.search.engine.adapter import (
    Adapter,
    adapter_path,
    installed_adapters,
    load_adapter,
    previous_path,
    remove_adapter,
    save_adapter,
    tune_at,
)

ENCODER = "some-encoder-1.0"


@pytest.fixture(scope="module", autouse=True)
def data(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield adapter_path(ENCODER)


@pytest.fixture(autouse=True)
def nothing_installed(data: Path) -> None:
    data.unlink(missing_ok=True)
    previous_path(data).unlink(missing_ok=True)


def an_adapter(size: int = 6, rank: int = 2, seed: int = 0) -> Adapter:
    random = np.random.default_rng(seed)
    down, up = random.normal(size=(size, rank)), random.normal(size=(rank, size))
    return Adapter(down.astype(np.float32), up.astype(np.float32))


def written(path: Path, **arrays: object) -> None:
    content = io.BytesIO()
    np.savez(content, **arrays)  # pyright: ignore[reportArgumentType]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.getvalue())


def ignored(caplog: pytest.LogCaptureFixture) -> str:
    """The one warning with which an adapter was ignored."""
    caplog.clear()
    with caplog.at_level(logging.WARNING, "hikidashi"):
        assert load_adapter(ENCODER) is None
    (message,) = caplog.messages
    assert message.startswith(f"The tuned adapter {adapter_path(ENCODER)} is ignored: ")
    assert message.endswith(". Run `hikidashi tools tune` again, or remove it with `hikidashi tools tune --remove`.")
    return message


def test_a_question_is_mapped_by_the_residual_and_normalised() -> None:
    adapter = an_adapter()
    vectors = np.eye(6, dtype=np.float32)[:3]
    expected = vectors + vectors @ adapter.down @ adapter.up
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(adapter(vectors), expected, rtol=1e-5)


def test_a_vector_of_zeros_stays_one() -> None:
    assert not an_adapter()(np.zeros((1, 6), np.float32)).any()


def test_vectors_of_another_length_are_returned_as_they_are_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    vectors = np.ones((2, 5), np.float32)
    assert an_adapter()(vectors) is vectors
    assert caplog.messages[0].startswith("The tuned adapter is for vectors of 6 numbers, and the encoder has 5")


def test_an_installed_adapter_is_loaded_as_it_was_saved(data: Path) -> None:
    assert load_adapter(ENCODER) is None
    adapter = an_adapter()
    assert save_adapter(ENCODER, adapter) == data
    loaded = load_adapter(ENCODER)
    assert loaded is not None
    np.testing.assert_array_equal(loaded.down, adapter.down)
    np.testing.assert_array_equal(loaded.up, adapter.up)
    assert installed_adapters() == [data]
    assert load_adapter("another-encoder") is None


def test_the_same_adapter_is_the_same_file(data: Path) -> None:
    save_adapter(ENCODER, an_adapter())
    first = data.read_bytes()
    save_adapter(ENCODER, an_adapter())
    assert data.read_bytes() == first


def test_only_its_owner_can_read_it(data: Path) -> None:
    save_adapter(ENCODER, an_adapter())
    assert data.stat().st_mode & 0o077 == 0


def test_a_name_with_slashes_stays_in_the_folder() -> None:
    path = adapter_path("../../acme/model:v1")
    assert path.parent == adapter_path(ENCODER).parent
    assert path.name == ".._.._acme_model_v1.npz"


def test_a_removed_adapter_is_gone(data: Path) -> None:
    save_adapter(ENCODER, an_adapter())
    remove_adapter(data)
    remove_adapter(data)  # another process was quicker
    assert installed_adapters() == []


def questions_of(path: Path) -> int | None:
    tune = tune_at(path)
    assert tune is not None
    return tune.questions


def test_the_adapter_that_is_replaced_is_kept_and_comes_back_when_the_new_one_is_removed(data: Path) -> None:
    save_adapter(ENCODER, an_adapter(), questions=68)
    os.utime(data, (1_700_000_000, 1_700_000_000))
    first = data.read_bytes()
    save_adapter(ENCODER, an_adapter(seed=1), questions=90)
    assert (questions_of(data), questions_of(previous_path(data))) == (90, 68)
    assert previous_path(data).stat().st_mode & 0o077 == 0
    assert installed_adapters() == [data]

    back = remove_adapter(data)
    assert back is not None
    assert (back.questions, back.made.timestamp()) == (68, 1_700_000_000)
    assert data.read_bytes() == first
    assert remove_adapter(data) is None
    assert list(data.parent.iterdir()) == []


def test_the_same_adapter_once_more_replaces_none(data: Path) -> None:
    save_adapter(ENCODER, an_adapter())
    save_adapter(ENCODER, an_adapter(seed=1))
    save_adapter(ENCODER, an_adapter(seed=1), questions=7)
    remove_adapter(data)
    loaded = load_adapter(ENCODER)
    assert loaded is not None
    np.testing.assert_array_equal(loaded.down, an_adapter().down)


def test_a_damaged_adapter_is_not_kept_and_does_not_come_back(data: Path) -> None:
    save_adapter(ENCODER, an_adapter(), questions=1)
    save_adapter(ENCODER, an_adapter(seed=1), questions=2)
    data.write_bytes(b"damaged")
    save_adapter(ENCODER, an_adapter(seed=2), questions=3)
    assert questions_of(previous_path(data)) == 1
    previous_path(data).write_bytes(b"damaged")
    assert remove_adapter(data) is None
    assert list(data.parent.iterdir()) == []


def test_what_was_replaced_by_an_adapter_that_was_removed_by_hand_does_not_come_back(data: Path) -> None:
    save_adapter(ENCODER, an_adapter())
    save_adapter(ENCODER, an_adapter(seed=1))
    data.unlink()
    save_adapter(ENCODER, an_adapter(seed=2))
    assert remove_adapter(data) is None
    assert load_adapter(ENCODER) is None


def test_without_numpy_the_one_before_comes_back_all_the_same(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_adapter(ENCODER, an_adapter(), questions=1)
    save_adapter(ENCODER, an_adapter(seed=1), questions=2)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "numpy", None)
        assert tune_at(data.with_name("none")) is None
        back = remove_adapter(data)
    assert back is not None
    assert (back.questions, questions_of(data)) == (None, 1)


def test_if_the_replaced_adapter_cannot_be_kept_it_stays_installed(data: Path) -> None:
    save_adapter(ENCODER, an_adapter(), questions=1)
    previous_path(data).mkdir()
    try:
        with pytest.raises(ToolSearchError, match="cannot be written"):
            save_adapter(ENCODER, an_adapter(seed=1), questions=2)
        assert questions_of(data) == 1
        with pytest.raises(ToolSearchError, match="cannot be removed"):
            remove_adapter(data)
        assert questions_of(data) == 1
    finally:
        previous_path(data).rmdir()


def test_a_damaged_file_is_named_without_the_advice_of_numpy(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    data.parent.mkdir(exist_ok=True)
    data.write_bytes(b"damaged")
    assert "is ignored: its file is damaged. Run `hikidashi tools tune` again" in ignored(caplog)
    assert "pickle" not in caplog.text


def test_a_file_that_cannot_be_read_is_named_with_the_reason(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    data.mkdir(parents=True)
    try:
        assert "is ignored: it cannot be read (Is a directory)" in ignored(caplog)
    finally:
        data.rmdir()


def test_a_folder_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    with pytest.raises(ToolSearchError, match=r"cannot be written \(.+\)\. Check the permissions") as caught:
        save_adapter(ENCODER, an_adapter())
    assert caught.value.code == "unavailable"


@given(content=st.binary(max_size=200))
def test_a_file_of_anything_is_ignored_with_one_warning(content: bytes) -> None:
    path = adapter_path(ENCODER)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    logging.getLogger("hikidashi").addHandler(handler)
    try:
        assert load_adapter(ENCODER) is None
    finally:
        logging.getLogger("hikidashi").removeHandler(handler)
    assert len(messages) == 1


@given(place=st.floats(0, 1, exclude_max=True), flipped=st.integers(1, 255))
def test_a_changed_byte_never_makes_another_adapter(place: float, flipped: int) -> None:
    adapter = an_adapter()
    path = save_adapter(ENCODER, adapter)
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= flipped
    path.write_bytes(bytes(content))
    loaded = load_adapter(ENCODER)  # some bytes of a zip file do not matter
    if loaded is not None:
        np.testing.assert_array_equal(loaded.down, adapter.down)
        np.testing.assert_array_equal(loaded.up, adapter.up)


def test_a_truncated_file_is_ignored(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    save_adapter(ENCODER, an_adapter())
    data.write_bytes(data.read_bytes()[:-40])
    ignored(caplog)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"encoder": "another"}, "it is for the encoder 'another', not for 'some-encoder-1.0'"),
        ({"up": np.ones((2, 5), np.float32)}, "shapes (6, 2) and (2, 5)"),
        ({"down": np.ones(6, np.float32)}, "shapes (6,) and (2, 6)"),
        ({"down": np.ones((0, 2), np.float32), "up": np.ones((2, 0), np.float32)}, "shapes (0, 2) and (2, 0)"),
        ({"up": np.full((2, 6), np.nan, np.float32)}, "not finite"),
        ({"up": np.full((2, 6), np.inf, np.float32)}, "not finite"),
        ({"up": np.full((2, 6), 1e30, np.float32)}, "too large"),
        ({"up": np.full((2, 6), "x")}, "types float32 and <U1"),
    ],
)
def test_matrices_that_cannot_be_applied_are_ignored(
    data: Path, caplog: pytest.LogCaptureFixture, changed: dict[str, object], why: str
) -> None:
    adapter = an_adapter()
    written(data, **{"encoder": ENCODER, "down": adapter.down, "up": adapter.up, **changed})
    assert why in ignored(caplog)


def test_a_file_that_lacks_a_matrix_is_ignored(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    written(data, encoder=ENCODER, down=np.ones((6, 2), np.float32))
    assert "it lacks up" in ignored(caplog)


def test_nothing_in_a_file_is_executed(data: Path, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "trapped"),)

    adapter = an_adapter()
    written(data, encoder=ENCODER, down=adapter.down, up=np.array([Trap()], dtype=object))
    ignored(caplog)
    assert not (tmp_path / "trapped").exists()


def test_a_huge_file_is_not_read(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    data.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("down.npy", b"")
    os.truncate(data, 60_000_000)
    assert "it has 60,000,000 bytes" in ignored(caplog)
