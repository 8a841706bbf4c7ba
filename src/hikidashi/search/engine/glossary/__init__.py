"""Words people use and the English words that tools are described in.

One file per language, `<language>.tsv`: a word, a tab, English words for it (alternatives divided by `|`); `#` starts
a comment. `en.tsv` has everyday English: ticket, deck, get rid of. `stopwords/<language>.txt` has the words that
say nothing about a tool. A file is read when a question first needs it.
"""

from __future__ import annotations

from .files import is_grammar
from .own import Glossary
from .understanding import Understanding, understand

__all__ = ["Glossary", "Understanding", "is_grammar", "understand"]
