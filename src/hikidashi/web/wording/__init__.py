"""Sentences in English and Japanese. Offers `Said`, `say` and `Language` to the rest of `web`."""
