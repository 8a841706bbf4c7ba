"""Glossaries: translations and synonyms of words in questions, in the English that tools are described in.

One file per language, `<language>.tsv`: a word, a tab, English words for it (alternatives divided by `|`); `#` starts
a comment. `en.tsv` has synonyms for everyday English: ticket, deck, get rid of. `stopwords/<language>.txt` has stop
words, `everyday/<language>.txt` words of everyday talk. A file is read when a question first needs it.
"""

from __future__ import annotations

from .files import is_grammar
from .own import Glossary
from .understanding import Understanding, understand

__all__ = ["Glossary", "Understanding", "is_grammar", "understand"]
