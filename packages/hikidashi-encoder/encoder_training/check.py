"""`python -m encoder_training check`: whether the files of `data/` are well-formed, and how much is in them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from .places import PACKAGE
from .server_files import (
    KINDS,
    LANGUAGES,
    FormatError,
    duplicates,
    faults,
    foreign_faults,
    read_asked,
    read_foreign,
    read_negatives,
    read_servers,
    read_talk,
)
from .task_files import ACROSS, read_tasks, task_faults

__all__ = ["check"]

_LONG = 25  # words


def check(folder: Path = PACKAGE / "data") -> int:
    """Print the counts and every fault; return the exit code, which is 1 where a fault was found."""
    foreign_path = folder / "asked_in_other_languages.txt"
    try:
        servers = read_servers(folder / "servers")
        tasks = read_tasks(folder / "tasks")
        foreign = read_foreign(foreign_path) if foreign_path.exists() else []
        asked, talk = read_asked(folder / "asked"), read_talk(folder / "talk")
    except FormatError as error:
        print(error)
        return 1
    path = folder / "negatives.txt"
    negatives = read_negatives(path) if path.exists() else []

    total: Counter[str] = Counter()
    for server in servers:
        kinds = Counter(question.kind for tool in server.tools for question in tool.questions)
        total += kinds
        shares = " ".join(f"{kind}{kinds[kind]:4}" for kind in KINDS)
        print(f"{server.name:20} {len(server.tools):4} tools {kinds.total():5} questions  {shares}")
    shares = " ".join(f"{kind}{total[kind]:5}" for kind in KINDS)
    print(f"{len(servers)} servers, {sum(len(server.tools) for server in servers)} tools, {total.total()} questions")
    print(f"{shares}; {len(negatives)} negatives")
    long = sum(len(task.text.split()) >= _LONG for some in tasks.values() for task in some)
    print(f"{sum(map(len, tasks.values()))} tasks, {len(tasks[ACROSS])} of them across servers, {long} long")
    languages = Counter(question.language for question in foreign)
    print("in other languages:", " ".join(f"{language} {languages[language]}" for language in LANGUAGES))

    print(f"{len(asked)} questions to train with in {len({one.language for one in asked})} other languages,", end=" ")
    print(f"{sum(map(len, talk.values()))} utterances of talk")

    found = [fault for server in servers for fault in faults(server)] + duplicates(servers, negatives)
    found += foreign_faults([*foreign, *asked], servers) + task_faults(tasks, servers)
    print("\n".join(found) or "no faults")
    return bool(found)
