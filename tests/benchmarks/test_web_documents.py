"""The questions on documents have answers, and the local index finds more of them first than plain bm25() does."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path

from benchmarks.web.document_questions import ENGLISH, JAPANESE
from benchmarks.web.documents import answerable, documents, filled, ours, packages, quality
from benchmarks.web.index_peers import fts5_ranking
from benchmarks.web.package_questions import PACKAGES

from hikidashi.web.local import LocalIndex


def test_a_hundred_questions_are_asked_and_ours_finds_their_answers_at_least_as_often(tmp_path: Path) -> None:
    corpus = documents()
    asked = [answerable(questions, corpus) for questions in (ENGLISH, JAPANESE)]
    assert Counter(one.question for one in (*ENGLISH, *JAPANESE)).total() == 100
    assert sum(map(len, asked)) >= 90
    rows = [(one.name, one.title, passage.body) for one in corpus for passage in one.passages]
    with closing(LocalIndex(tmp_path / "web.db")) as index:
        filled(index, corpus)
        for questions in asked:
            recall, mrr = quality(ours(index), questions)
            for tokenizer in ("porter unicode61", "trigram"):
                of_peer = quality(fts5_ranking(rows, tokenizer, 10), questions)
                assert recall >= of_peer[0]
                # Trigrams order the Japanese answers better: a known weakness, not a goal.
                assert mrr > of_peer[1] or (questions is asked[1] and tokenizer == "trigram")


def test_questions_on_installed_packages_are_all_answered_and_the_right_one_is_nearer_the_top(tmp_path: Path) -> None:
    corpus = packages()
    asked = answerable(PACKAGES, corpus)
    assert len(asked) >= 60
    rows = [(one.name, one.title, passage.body) for one in corpus for passage in one.passages]
    with closing(LocalIndex(tmp_path / "web.db")) as index:
        filled(index, corpus)
        search = ours(index)
        assert [one.question for one in asked if not search(one.question)] == []
        _, mrr = quality(search, asked)
    for tokenizer in ("unicode61", "porter unicode61", "trigram"):
        assert mrr > quality(fts5_ranking(rows, tokenizer, 10), asked)[1]
