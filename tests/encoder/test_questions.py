"""Questions in training have the forms in which the search gives them to the encoder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "packages" / "hikidashi-encoder"
READ = """
import json, sys
from encoder_training.questions import as_keywords, as_read
question = sys.argv[1]
keywords = [as_keywords(question, is_verb_last=is_last) for is_last in (False, True)]
print(json.dumps([as_read(question), *keywords]))
"""


@pytest.mark.parametrize(
    ("question", "read", "keywords", "verb_last"),
    [
        ("Could you cancel my meeting?", "Could you cancel my meeting?", "cancel meeting", "meeting cancel"),
        ("ｓｅｎｄ the report", "send the report", "send report", "report send"),
        (
            "send the file to ann@example.com",
            "send the file to address",
            "send file address",
            "address file send",
        ),
        ("what's the weather", "what's the weather", "", ""),
        ("", "", "", ""),
    ],
    ids=["small words", "full width", "a literal", "one word is no list of keywords", "empty"],
)
def test_a_question_is_read_as_a_search_reads_it_and_as_keywords(
    question: str, read: str, keywords: str, verb_last: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ, question], cwd=PACKAGE, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [read, keywords, verb_last]
