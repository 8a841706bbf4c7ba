"""The search engine: tools and questions become terms, BM25 ranks, and a gate says how sure the ranking is.

Offers `Index`, `read_query`, `judged`, `Pattern`, `Entry` and the saved form to the catalogue; knows no framework.
"""
