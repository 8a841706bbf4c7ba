"""The languages of texts for people and models, and strings that carry their translations.

Inner code creates a text once, in every language; the code that shows it chooses one, with `in_language`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

__all__ = ["Language", "LocalizedText", "in_language", "localized"]

Language = Literal["en", "ja"]


class LocalizedText(str):
    """A string in one language that carries its translations."""

    translations: Mapping[Language, str]
    """The text by language, this one included."""

    @classmethod
    def of(cls, translations: Mapping[Language, str], language: Language) -> Self:
        """The text of `translations` in `language`; in English where that one is missing."""
        text = cls(translations[language] if language in translations else translations["en"])
        text.translations = translations
        return text


def localized(templates: Mapping[Language, str], default: Language, /, **values: object) -> LocalizedText:
    """The templates with `values` filled in, as a string in the language `default`.

    A value that is a `LocalizedText` itself is filled in in the language of each template.
    """

    def filled(template: str, language: Language) -> str:
        return template.format(
            **{
                name: in_language(value, language) if isinstance(value, str) else value
                for name, value in values.items()
            }
        )

    return LocalizedText.of({language: filled(text, language) for language, text in templates.items()}, default)


def in_language(text: str, language: Language) -> str:
    """`text` in `language` if it carries translations; any other string unchanged."""
    return LocalizedText.of(text.translations, language) if isinstance(text, LocalizedText) else text
