"""Text analysis: terms, stems, stop words, spellings, literals, and what kind of sentence a question is."""
