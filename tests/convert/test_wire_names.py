"""Names that the APIs of models take, and the way back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.convert.wire import WireNames, plain_name

ALLOWED = re.compile(r"[a-zA-Z0-9_-]+")
NAMES = st.text(min_size=1, max_size=200) | st.text("ab._ -あ", min_size=1, max_size=6)


@given(st.lists(NAMES, max_size=30), st.integers(16, 128))
def test_every_name_has_a_wire_name_of_its_own_that_leads_back(names: list[str], longest: int) -> None:
    wire = WireNames(names, longest=longest)
    given_names = set(names)
    assert {wire.original(wire.of(name)) for name in given_names} == given_names
    assert all(ALLOWED.fullmatch(wire.of(name)) and len(wire.of(name)) <= longest for name in names)


@given(st.lists(NAMES, min_size=1, max_size=10))
def test_a_name_with_other_scripts_has_the_same_wire_name_whatever_else_there_is(names: list[str]) -> None:
    foreign = [name for name in names if not name.isascii()]
    together = WireNames(names)
    assert [together.of(name) for name in foreign] == [WireNames([name]).of(name) for name in foreign]


@given(st.text("abcXYZ019_-", min_size=1, max_size=64), st.lists(NAMES, max_size=10))
def test_a_name_that_fits_stays_as_it_is_whoever_looks_like_it(name: str, others: list[str]) -> None:
    assert WireNames([*others, name]).of(name) == name


def test_names_stay_readable() -> None:
    wire = WireNames(["files.read", "files_read", "files read", "メール送信", "予定を追加", "café menu", "x" * 70])
    assert wire.of("files_read") == "files_read"
    assert re.fullmatch("files_read_[a-z2-7]{8}", wire.of("files.read"))
    assert wire.of("files.read") != wire.of("files read")
    assert re.fullmatch("tool_[a-z2-7]{8}", wire.of("メール送信"))
    assert wire.of("メール送信") != wire.of("予定を追加")
    assert re.fullmatch("cafe_menu_[a-z2-7]{8}", wire.of("café menu"))
    assert re.fullmatch("x{55}_[a-z2-7]{8}", wire.of("x" * 70))
    assert plain_name("a b.c") == WireNames().of("a b.c") == "a_b_c"


def test_names_that_the_target_takes_for_one_are_kept_apart() -> None:
    wire = WireNames(["read-file", "read_file"], alike=lambda name: name.replace("-", "_"))
    assert wire.of("read-file") == "read-file"
    assert re.fullmatch("read_file_[a-z2-7]{8}", wire.of("read_file"))


def test_no_room_for_a_hash_is_refused() -> None:
    with pytest.raises(ValueError, match="`longest` is 15: a wire name needs 16 characters or more"):
        WireNames(longest=15)
