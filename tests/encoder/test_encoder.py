"""`hikidashi_encoder.Encoder` with the real model."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hikidashi_encoder
import numpy as np
import pytest
from hikidashi_encoder import DIMENSIONS, ID, Encoder, ModelError
from hypothesis import given, settings
from hypothesis import strategies as st

MODEL = Path(hikidashi_encoder.__file__).parent / "model"
TEXTS = [
    "cancel my meeting on monday",
    "Send message. Post a message to a channel, as a reply or at a later time. channel, text, thread, send at",
    "create github issue",
    "",
    "what will the weather be like in oslo on the 14th, and do i need an umbrella",
]
# Identity of one number, written with the package `onnx`.
ANOTHER_MODEL = bytes.fromhex(
    "08083a370a100a016112016222084964656e746974791201675a0f0a0161120a0a08080112040a020801620f0a0162120a0a08080112040a0208"
    "0142040a001011"
)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder()


def test_every_text_has_a_row_of_length_one(encoder: Encoder) -> None:
    vectors = encoder.embed(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), DIMENSIONS), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_text_has_the_same_vector_alone_and_in_any_list(encoder: Encoder) -> None:
    alone = np.stack([encoder.embed([text])[0] for text in TEXTS])
    np.testing.assert_array_equal(encoder.embed(TEXTS), alone)
    np.testing.assert_array_equal(encoder.embed(TEXTS[::-1]), alone[::-1])


def test_threads_change_neither_vectors_nor_their_order(encoder: Encoder) -> None:
    many = TEXTS * 4
    expected = encoder.embed(many)
    np.testing.assert_array_equal(Encoder(threads=3).embed(many), expected)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(encoder.embed, [many] * 4):
            np.testing.assert_array_equal(found, expected)


def test_no_texts_have_no_rows(encoder: Encoder) -> None:
    assert encoder.embed([]).shape == (0, DIMENSIONS)


def test_of_a_long_text_the_beginning_is_embedded(encoder: Encoder) -> None:
    words = ["weather"] * 62  # with the two that every text gets, 64 tokens
    long, longer, longest = encoder.embed([" ".join(words), " ".join([*words, "invoice"]), "weather " * 1_000_000])
    np.testing.assert_array_equal(longer, long)
    np.testing.assert_array_equal(longest, long)


def test_blank_space_around_a_text_does_not_matter(encoder: Encoder) -> None:
    plain, blank = encoder.embed(["create github issue", " " * 100_000 + "create github issue\n"])
    np.testing.assert_array_equal(blank, plain)


@settings(max_examples=50)
@given(text=st.text(st.characters(exclude_categories=[]), max_size=200))
def test_every_string_has_a_vector(encoder: Encoder, text: str) -> None:
    vector = encoder.embed([text, f"\ud83d{text}\ude00\ud800"])
    np.testing.assert_allclose(np.linalg.norm(vector, axis=1), 1, atol=1e-5)


def test_a_surrogate_pair_is_the_character_that_it_encodes(encoder: Encoder) -> None:
    pair, character = encoder.embed(["caf\u00e9 \ud83c\udf89", "caf\u00e9 \U0001f389"])
    np.testing.assert_array_equal(pair, character)


def test_a_question_is_nearer_to_its_tool_than_to_others(encoder: Encoder) -> None:
    question, *tools = encoder.embed(
        ["call off my appointment tomorrow", "Delete event. Remove an event from the calendar.", "Create invoice."]
    )
    near, far = (float(question @ tool) for tool in tools)
    assert near > far


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a text", r"embed takes a list of texts, not a text. Use: embed\(\[text\]\)"),
        (["a text", None], "embed takes texts, and number 1 is of type NoneType"),
        ([b"a text"], "embed takes texts, and number 0 is of type bytes"),
        ([["a text"]], r"number 0 is of type list \(\['a text'\]\)"),
        ([float("nan")], r"number 0 is of type float \(nan\)"),
        (b"a text", "embed takes a list of texts, not a bytes"),
        (None, r"embed takes a list of texts, not a NoneType \(None\)"),
        (3, r"embed takes a list of texts, not a int \(3\)"),
        ({"a text"}, "embed takes a list of texts, not a set"),
        ({"a text": 1}, "embed takes a list of texts, not a dict"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(encoder: Encoder, texts: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        encoder.embed(texts)


def test_texts_come_in_any_sequence_or_from_a_generator(encoder: Encoder) -> None:
    expected = encoder.embed(TEXTS)
    for texts in (tuple(TEXTS), np.array(TEXTS), (text for text in TEXTS)):
        np.testing.assert_array_equal(encoder.embed(texts), expected)


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, "2", None])
def test_less_than_one_thread_is_refused(threads: Any) -> None:
    with pytest.raises(ValueError, match=f"threads must be a whole number of at least 1, not {threads!r}"):
        Encoder(threads=threads)


def test_a_folder_may_be_given_as_text(tmp_path: Path) -> None:
    folder: Any = str(tmp_path)
    with pytest.raises(ModelError, match=r"tokenizer.json is missing"):
        Encoder(folder=folder)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "other bytes", "a folder"])
def test_a_damaged_model_is_refused_by_name_with_the_remedy(tmp_path: Path, name: str, damage: str) -> None:
    for file in MODEL.iterdir():
        (tmp_path / file.name).symlink_to(file)
    path = tmp_path / name
    path.unlink()
    if damage == "a folder":
        path.mkdir()
    elif damage != "missing":
        whole = (MODEL / name).read_bytes()
        path.write_bytes({"empty": b"", "truncated": whole[: len(whole) // 2], "other bytes": b"\x00{" * 999}[damage])
    with pytest.raises(ModelError) as caught:
        Encoder(folder=tmp_path)
    assert caught.value.path == path
    said = damage if damage in {"missing", "empty"} else "damaged"
    assert f"{path} is {said}" in str(caught.value)
    assert "Run: pip install --force-reinstall hikidashi-encoder" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_another_onnx_model_is_refused(tmp_path: Path) -> None:
    shutil.copy(MODEL / "tokenizer.json", tmp_path)
    (tmp_path / "model.onnx").write_bytes(ANOTHER_MODEL)
    with pytest.raises(ModelError, match="is another model: it has no output `vectors` of 384 numbers"):
        Encoder(folder=tmp_path)


def test_importing_the_package_loads_no_runtime_and_needs_no_installation(tmp_path: Path) -> None:
    shutil.copytree(MODEL.parent, tmp_path / "hikidashi_encoder", ignore=shutil.ignore_patterns("tokenizer.json"))
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import hikidashi_encoder as it;"
        "print(it.__file__.startswith(sys.argv[1]), 'onnxruntime' in sys.modules, 'tokenizers' in sys.modules, it.ID)"
    )
    model = tmp_path / "hikidashi_encoder" / "model" / "model.onnx"

    def imported() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True, cwd=tmp_path
        )
        return done.stdout.split()

    assert imported() == ["True", "False", "False", ID]
    changed = bytearray(model.read_bytes())
    changed[5 << 20] ^= 1
    model.write_bytes(changed)
    assert imported()[-1] != ID  # a model that was trained again is another one
    model.unlink()
    assert imported()[-1] == f"hikidashi-encoder-{hikidashi_encoder.__version__}-unavailable"


def test_the_example_of_the_card_runs(capsys: pytest.CaptureFixture[str]) -> None:
    card = (Path(__file__).parents[2] / "packages" / "hikidashi-encoder" / "README.md").read_text(encoding="utf-8")
    example = card.split("```python\n", 1)[1].split("```", 1)[0]
    exec(example, {})
    assert capsys.readouterr().out.split() == re.findall("# (True)$", example, re.MULTILINE)


def test_nothing_about_the_use_of_the_encoder_is_kept_or_sent(tmp_path: Path) -> None:
    program = "from hikidashi_encoder import Encoder; Encoder().embed(['cancel my meeting'])"
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    for variable in ("HOME", "USERPROFILE", "XDG_CACHE_HOME"):
        environment[variable] = str(tmp_path)
    subprocess.run([sys.executable, "-B", "-c", program], env=environment, check=True)
    assert list(tmp_path.rglob("*")) == []
