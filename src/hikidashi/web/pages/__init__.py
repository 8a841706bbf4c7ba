"""Everything between an address and its text: which addresses may be fetched, fetching, decoding, extraction.

Offers `Fetcher`, `Extractor`, `check_url` and `extract_urls` to providers and crawler.
"""
