"""What `common` does is done nowhere else by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hikidashi

SOURCE = Path(hikidashi.__file__).parent

BY_HAND = {
    "SQLite connections: common.sqlite.connect": r"sqlite3\.connect\(",
    "transactions: common.sqlite.transaction": r"\"(ROLLBACK|BEGIN IMMEDIATE)\"",
    "private files: common.files": r"O_CREAT|mode=0o[67]00|chmod\(0o",
    "atomic writes: common.files.replace_file": r"os\.replace\(|\bfsync\(|NamedTemporaryFile\(",
    "folders of the user: common.files": r"[\"'](XDG_|LOCALAPPDATA)|[\"']\.(cache|local)\b",
    "lone surrogates: common.unicode": r"encode\(\"utf-8\", \"(replace|ignore)\"|\"surrogatepass\"\)\.decode",
    "loopback hosts: common.urls.is_loopback": r"\.is_loopback\b|== \"localhost\"",
}

ALLOWED = {
    # The writer of the index begins a transaction in one method and ends it in another.
    "web/local/database.py": {"transactions: common.sqlite.transaction"},
    # A lock file that stays open as long as the process lives.
    "apps/slack/questions.py": {"private files: common.files"},
    "gateway/daemon.py": {"private files: common.files"},
    "gateway/auth/logins.py": {"private files: common.files"},
    # The folders of other programs.
    "cli/tour_acts.py": {"folders of the user: common.files"},
    "servers/clients.py": {"folders of the user: common.files"},
}


@pytest.mark.parametrize("what", BY_HAND)
def test_nothing_in_common_is_done_by_hand(what: str) -> None:
    found = [
        f"{inside}:{number}: {line.strip()}"
        for path in sorted(SOURCE.rglob("*.py"))
        if (inside := path.relative_to(SOURCE)).parts[0] != "common" and what not in ALLOWED.get(str(inside), set())
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(BY_HAND[what], line)
    ]
    assert found == []
