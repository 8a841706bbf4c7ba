"""What people and models read in two languages: `en` and `ja` have one table for each room, with the same keys.

Inner code names a text once, by key and values; the code that shows it chooses the language, with `in_language`. A room
adds its table to both files, and a language is one more file like them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from . import en, ja

__all__ = ["TABLES", "Language", "LocalizedText", "check_language", "in_language", "localized", "texts"]

Language = Literal["en", "ja"]

TABLES: dict[Language, Mapping[str, Mapping[str, str]]] = {"en": en.ROOMS, "ja": ja.ROOMS}


class LocalizedText(str):
    """A text in one language that knows its room, key and values, and so can be had in another."""

    room: str
    key: str
    values: Mapping[str, object]

    @classmethod
    def of(cls, room: str, key: str, values: Mapping[str, object], language: Language) -> Self:
        """The text in `language`, or in English where there is none; values that are such texts themselves likewise."""
        template = TABLES.get(language, TABLES["en"])[room][key]
        filled = {name: in_language(one, language) if isinstance(one, str) else one for name, one in values.items()}
        text = cls(template.format(**filled))
        text.room, text.key, text.values = room, key, values
        return text


def localized(room: str, key: str, language: Language = "ja", /, **values: object) -> LocalizedText:
    """The text `key` of `room` with `values` filled in."""
    return LocalizedText.of(room, key, values, language)


def in_language(text: str, language: Language) -> str:
    """`text` in `language` if it is a `LocalizedText`; any other string unchanged."""
    return LocalizedText.of(text.room, text.key, text.values, language) if isinstance(text, LocalizedText) else text


def texts(room: str, language: Language) -> Mapping[str, str]:
    """The table of `room` in `language`.

    Raises:
        ValueError: there is no such language.
    """
    return TABLES[check_language(language)][room]


def check_language(language: Language) -> Language:
    """`language`, if there are texts in it.

    Raises:
        ValueError: there is no such language.
    """
    if not isinstance(language, str) or language not in TABLES:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"`language` is {language!r}: use {' or '.join(map(repr, TABLES))}.")
    return language
