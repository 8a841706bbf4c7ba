"""Text that UTF-8 can carry, whatever surrogates came in."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.common.unicode import well_formed

ANY_TEXT = st.text(st.characters(exclude_categories=()))
SURROGATES = st.text(st.characters(categories=["Cs"]), min_size=1)


@pytest.mark.parametrize(
    ("given", "repaired"),
    [
        ("引き出し 🗄", "引き出し 🗄"),
        ("a\ud83db", "a\ufffdb"),
        ("a\ude00c", "a\ufffdc"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ud83d\ude00", "\ufffd😀"),
        ("end\ud83d", "end\ufffd"),
        ("\ufeffmark\udcff", "\ufeffmark\ufffd"),
    ],
)
def test_pairs_are_joined_and_lone_surrogates_replaced(given: str, repaired: str) -> None:
    assert well_formed(given) == repaired


@given(ANY_TEXT | SURROGATES)
def test_the_result_can_be_encoded_and_is_stable(text: str) -> None:
    once = well_formed(text)
    assert once.encode().decode() == once
    assert well_formed(once) == once


@given(ANY_TEXT | SURROGATES)
def test_nothing_but_surrogates_changes(text: str) -> None:
    expected = re.sub("[\ud800-\udbff][\udc00-\udfff]", lambda pair: _joined(pair[0]), text)
    assert well_formed(text) == re.sub("[\ud800-\udfff]", "\ufffd", expected)


def _joined(pair: str) -> str:
    high, low = map(ord, pair)
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
