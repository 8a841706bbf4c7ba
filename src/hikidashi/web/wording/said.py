"""Sentences in Japanese and English: said in one language, and still known in the other.

A client words its errors before it is known who reads them. Whoever formats them may have another language, so a
sentence keeps its twin.
"""

from __future__ import annotations

from typing import Literal, Self

__all__ = ["Language", "Said", "said"]

Language = Literal["ja", "en"]


class Said(str):
    """A sentence in one language; `within` gives it in any."""

    _twins: dict[Language, str]

    @classmethod
    def of(cls, twins: dict[Language, str], language: Language) -> Self:
        """The sentence of `twins` in `language`."""
        sentence = cls(twins[language])
        sentence._twins = twins
        return sentence

    def within(self, language: Language) -> Self:
        """The same sentence in `language`."""
        return self.of(self._twins, language)


def said(japanese: str, english: str, language: Language, /, **values: object) -> Said:
    """One of two templates, filled in; a value that is a sentence itself is told in the language of each."""

    def told(template: str, language: Language) -> str:
        return template.format(
            **{name: value.within(language) if isinstance(value, Said) else value for name, value in values.items()}
        )

    return Said.of({"ja": told(japanese, "ja"), "en": told(english, "en")}, language)
