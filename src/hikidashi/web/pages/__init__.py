"""From an address to its text: URL checks, guarded fetching, decoding, extraction.

Offers `Fetcher`, `Extractor` and `check_url`.
"""
