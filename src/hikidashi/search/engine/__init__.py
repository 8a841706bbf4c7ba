"""The search engine. A search passes: limits, query (with glossary and statement), index, gate, rows, match.

By meaning, also meaning (vectors and embeddings) and fusion.
"""
