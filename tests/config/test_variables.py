"""`${VARIABLE}` inside a text."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikidashi.config.load import BrokenVariableError, Filled, filled


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", Filled("plain", False, ())),
        ("${A}", Filled("x", True, ())),
        ("<${A}|${A}>", Filled("<x|x>", True, ())),
        ("${NO}", Filled("", True, ("NO",))),
        ("${NO}${NO}${NEITHER}", Filled("", True, ("NO", "NEITHER"))),
        ("${NO:-d e:f}", Filled("d e:f", True, ())),
        ("${EMPTY:-d}", Filled("d", True, ())),
        ("${EMPTY}", Filled("", True, ())),
        ("${NO:-}", Filled("", True, ())),
        ("$$${A}$$", Filled("$x$", True, ())),
        ("$A $5 $", Filled("$A $5 $", False, ())),
    ],
)
def test_variables_are_filled_in(text: str, expected: Filled) -> None:
    assert filled(text, {"A": "x", "EMPTY": ""}) == expected


@pytest.mark.parametrize("text", ["${", "${}", "${A", "${A-b}", "${1A}", "${A B}", "${あ}", "x ${A:b}"])
def test_what_names_no_variable_is_refused(text: str) -> None:
    with pytest.raises(BrokenVariableError, match="names no variable"):
        filled(text, {"A": "x"})


@given(st.text())
def test_doubling_the_dollars_gives_any_text_back(text: str) -> None:
    assert filled(text.replace("$", "$$"), {}) == Filled(text, False, ())


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["${A}", "${B:-two}", "${C:-}", "${E:-empty}"]), st.text(alphabet="ab :-}/あ", max_size=4)
        )
    )
)
@settings(max_examples=25)
def test_the_shell_reads_it_the_same_way(pieces: list[str]) -> None:
    text = "".join(pieces)
    environment = {"A": "one", "E": "", "PATH": os.environ["PATH"]}
    script = f'printf %s "{text}"'
    by_shell = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True).stdout
    assert filled(text, environment).text == by_shell
