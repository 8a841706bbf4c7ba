"""Splitting of texts into passages, terms in any script, snippets and relevant passages."""
