"""`hikidashi_encoder.Encoder` with the real model."""

from __future__ import annotations

import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hikidashi_encoder
import numpy as np
import pytest
from hikidashi_encoder import DIMENSIONS, ID, MOST_PIECES, Encoder, ModelError, text_of_tool
from hypothesis import given, settings
from hypothesis import strategies as st

MODEL = Path(hikidashi_encoder.__file__).parent / "model"
TEXTS = [
    "cancel my meeting on monday",
    "Send message. Post a message to a channel, as a reply or at a later time. channel, text, thread, send at",
    "来週の火曜の打ち合わせを取り消して",
    "",
    "what will the weather be like in oslo on the 14th, and do i need an umbrella",
]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder()


@pytest.fixture(params=["questions", "tools"])
def embed(encoder: Encoder, request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return getattr(encoder, request.param)


def test_every_text_has_a_row_of_length_one(embed: Callable[[Any], Any]) -> None:
    vectors = embed(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), DIMENSIONS), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_text_has_the_same_vector_alone_and_in_any_list(embed: Callable[[Any], Any]) -> None:
    alone = np.stack([embed([text])[0] for text in TEXTS])
    np.testing.assert_allclose(embed(TEXTS), alone, atol=1e-5)
    many = embed(TEXTS[::-1] * 40)
    np.testing.assert_allclose(many, np.tile(alone[::-1], (40, 1)), atol=1e-5)


def test_threads_may_share_an_encoder(encoder: Encoder) -> None:
    expected = encoder.questions(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(encoder.questions, [TEXTS] * 8):
            np.testing.assert_allclose(found, expected, atol=1e-5)


def test_no_texts_have_no_rows(embed: Callable[[Any], Any]) -> None:
    assert embed([]).shape == (0, DIMENSIONS)


def test_of_a_long_text_the_beginning_is_embedded(embed: Callable[[Any], Any]) -> None:
    words = ["weather"] * MOST_PIECES
    long, longer, longest = embed([" ".join(words), " ".join([*words, "invoice"]), "weather " * 1_000_000])
    np.testing.assert_allclose(longer, long, atol=1e-5)
    np.testing.assert_allclose(longest, long, atol=1e-5)


def test_blank_space_around_a_text_does_not_matter(embed: Callable[[Any], Any]) -> None:
    plain, blank = embed(["create github issue", " " * 100_000 + "create  github issue\n"])
    np.testing.assert_allclose(blank, plain, atol=1e-5)


@settings(max_examples=50)
@given(text=st.text(st.characters(exclude_categories=[]), max_size=200))
def test_every_string_has_a_vector(encoder: Encoder, text: str) -> None:
    vector = encoder.questions([text, f"\ud83d{text}\ude00\ud800"])
    np.testing.assert_allclose(np.linalg.norm(vector, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    "question",
    [
        "call off my appointment tomorrow",
        "明日の予定を取り消して",
        "sag den Termin morgen ab",
        "annule mon rendez-vous de demain",
        "cancela mi cita de mañana",
        "내일 약속 취소해 줘",
        "取消我明天的约会",
    ],
)
def test_a_question_in_any_language_is_nearer_to_its_tool_than_to_others(encoder: Encoder, question: str) -> None:
    tools = encoder.tools(
        [
            text_of_tool("delete_event", "Remove an event from the calendar.", ["event_id"]),
            text_of_tool("予定の削除", "カレンダーから予定を削除します。"),
            text_of_tool("create_invoice", "Create an invoice for a customer.", ["customer", "amount"]),
        ]
    )
    english, japanese, other = encoder.questions([question])[0] @ tools.T
    assert min(english, japanese) > other


def test_a_request_is_told_from_talk(encoder: Encoder) -> None:
    sentences = [
        "post the minutes in #design",
        "請求書を佐藤さんに送って",
        "the soup was too salty",
        "むかしは海が近かった",
    ]
    first, second, third, fourth = encoder.is_request(encoder.questions(sentences))
    assert min(first, second) > 0.5 > max(third, fourth)


def test_the_text_of_a_tool_is_its_name_in_words_its_beginning_and_its_arguments() -> None:
    long = "Deletes one event. " + "It also tells all who were invited, unless that is turned off. " * 9
    assert text_of_tool("calendar.deleteEvent_v2", "Delete  an event.\n", ["eventId", "send-updates"]) == (
        "calendar delete Event v2. Delete an event. event Id, send updates"
    )
    assert len(text_of_tool("x", long)) < 250
    assert text_of_tool("ping", "") == "ping"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a text", r"This takes a list of texts, not a text. Use: questions\(\[text\]\)"),
        (["a text", None], "This takes texts, and number 1 is of type NoneType"),
        ([b"a text"], "This takes texts, and number 0 is of type bytes"),
        (b"a text", "This takes a list of texts, not a bytes"),
        (None, r"This takes a list of texts, not a NoneType \(None\)"),
        ({"a text"}, "This takes a list of texts, not a set"),
        ({"a text": 1}, "This takes a list of texts, not a dict"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(embed: Callable[[Any], Any], texts: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        embed(texts)


def test_texts_come_in_any_sequence_or_from_a_generator(encoder: Encoder) -> None:
    expected = encoder.questions(TEXTS)
    for texts in (tuple(TEXTS), np.array(TEXTS), (text for text in TEXTS)):
        np.testing.assert_array_equal(encoder.questions(texts), expected)


@pytest.mark.parametrize("name", ["embeddings.npy", "pieces.txt", "weights.npz"])
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


def test_the_name_tells_models_apart_and_is_known_without_loading_one(tmp_path: Path, encoder: Encoder) -> None:
    assert encoder.name == ID
    shutil.copytree(MODEL.parent, tmp_path / "hikidashi_encoder")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import hikidashi_encoder as it; print(it.ID)"
    weights = tmp_path / "hikidashi_encoder" / "model" / "weights.npz"

    def imported() -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True, cwd=tmp_path
        )
        return done.stdout.strip()

    assert imported() == ID
    changed = bytearray(weights.read_bytes())
    changed[2 << 20] ^= 1
    weights.write_bytes(changed)
    assert imported() != ID  # a model that was trained again is another one
    weights.unlink()
    assert imported() == f"hikidashi-encoder-{hikidashi_encoder.__version__}-unavailable"


def test_the_example_of_the_card_runs(capsys: pytest.CaptureFixture[str]) -> None:
    card = (Path(__file__).parents[2] / "packages" / "hikidashi-encoder" / "README.md").read_text(encoding="utf-8")
    example = card.split("```python\n", 1)[1].split("```", 1)[0]
    exec(example, {})
    assert capsys.readouterr().out.split() == re.findall("# (True)$", example, re.MULTILINE)
