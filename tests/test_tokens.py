"""The estimate of tokens, beside counts of Claude 2's tokenizer, which Anthropic published, and of cl100k."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.tokens import definition_tokens, estimate_tokens

MAIL_EN: dict[str, Any] = {
    "name": "send_mail",
    "description": "Send an e-mail to one or more recipients. Attachments may have up to 10 MB each.",
    "input_schema": {
        "type": "object",
        "properties": {
            "to": {"type": "array", "items": {"type": "string"}, "description": "Addresses of the recipients"},
            "subject": {"type": "string", "description": "Subject line"},
            "body": {"type": "string", "description": "Plain text of the message"},
        },
        "required": ["to", "subject", "body"],
    },
}
MAIL_JA: dict[str, Any] = {
    "name": "send_mail",
    "description": "指定した宛先にメールを送信します。件名と本文は必須です。添付ファイルは10MBまで指定できます。",
    "input_schema": {
        "type": "object",
        "properties": {
            "to": {"type": "string", "description": "宛先のメールアドレス"},
            "subject": {"type": "string", "description": "件名"},
            "body": {"type": "string", "description": "本文（プレーンテキスト）"},
        },
        "required": ["to", "subject", "body"],
    },
}

ENGLISH = """\
A chest of drawers looks simple until one of them sticks. Wood swells when the air is damp, and a drawer that ran
smoothly in February may refuse to move in July. The usual advice is to rub a candle along the runners, which helps
for a week or two. A lasting repair starts with finding the place that rubs: pull the drawer out, chalk the edges,
push it back in, and look where the chalk has gone. Plane only there, a shaving at a time, and try again after every
pass. Most people take off too much on the first attempt and end up with a drawer that rattles all winter. If the
bottom panel has dropped, no amount of planing will help, because the groove that holds it has worn out and needs a
new strip of hardwood glued in.

Old furniture often has a second problem that nobody notices. The front was joined with hide glue, which lets go in
heated rooms, so the dovetails carry the whole load by themselves. Press the corners gently with your thumbs. When
they move, take the joint apart completely, clean it with warm water, and glue it again before it breaks."""
JAPANESE = """\
引き出しが重くなったとき、まず疑うべきなのは湿気です。木材は湿度が高くなると膨らみ、冬には何の問題もなく動いていたものが、梅雨に入ったとたんに開かなくなることがあります。
ろうそくを溝に塗るという昔ながらの方法は手軽ですが、効果は長く続きません。きちんと直したいのであれば、どこが擦れているのかを調べることから始めましょう。
引き出しを抜いて側面にチョークを塗り、もう一度差し込んでから取り出すと、こすれた場所だけ色が落ちています。そこを鉋で少しずつ削り、そのたびに動きを確かめてください。
一度に削りすぎると、今度は乾燥する季節にがたつくようになります。底板が下がっている場合は、いくら削っても直りません。
古いたんすでは、接着剤が弱くなっていることもよくあります。角を指で軽く押してみて、わずかでも動くようなら、一度すべて分解し、ぬるま湯で古いにかわを洗い流してから組み直すのが結局は近道です。
部屋の空気が乾燥しすぎるのも家具にとってはよくないので、冬は加湿器を使うとよいでしょう。"""
MARKDOWN = """\
# Repairing a drawer

Before you start, read [the list of tools](tools.md) and **empty the chest**.

## What you need

| Tool | Use | Price |
|------|-----|------:|
| Chalk | find the place that rubs | 1.20 |
| Block plane | take off a shaving | 45.00 |
| Wax | last step only | 3.50 |

1. Pull the drawer out and mark the back with an `X`.
2. Chalk both sides, then push it in *once*.
3. Plane where the chalk is gone; see `plane --help` for the angles.

> Never plane the front edge. It is veneer on most chests made after 1920.

- [x] runners cleaned
- [ ] bottom panel checked
- [ ] joints pressed by hand

More in the [chapter about glue](glue.md#hide-glue) and at <https://example.com/drawers?page=2>."""
CODE = '''\
class Drawer:
    """Holds things by name, up to a number of them."""

    def __init__(self, capacity: int = 10) -> None:
        self._things: dict[str, Thing] = {}
        self.capacity = capacity

    def put(self, thing: Thing) -> None:
        if len(self._things) >= self.capacity:
            raise DrawerFull(f"{self!r} holds {self.capacity} things already")
        self._things[thing.name] = thing

    def find(self, words: Iterable[str]) -> list[Thing]:
        wanted = {word.casefold() for word in words}
        return sorted(
            (thing for name, thing in self._things.items() if wanted & set(name.split("_"))),
            key=lambda thing: (-thing.lastUsed, thing.name),
        )


for row in read_rows(Path("drawers.csv"), encoding="utf-8"):
    drawer = drawers.setdefault(row["label"], Drawer(capacity=int(row["size"])))
    drawer.put(Thing(row["name"], lastUsed=float(row["last_used"] or 0)))
'''
MIXED = """\
## 引き出しの使い方

`Drawer` クラスは Python 3.11 以降で動きます。インストールは `pip install drawer` です。

- **put(thing)**: 物を入れます。容量を超えると `DrawerFull` が送出されます。
- **find(words)**: 名前に単語を含む物を、最近使った順に返します。

| 引数 | 型 | 既定値 | 説明 |
|------|----|--------|------|
| capacity | int | 10 | 入れられる物の数 |
| label | str | "" | 引き出しの名前 |

設定ファイルは `~/.config/drawer.toml` に置いてください。詳しくは https://example.com/ja/docs を参照してください。"""


@pytest.mark.parametrize(("text", "claude", "cl100k"), [(ENGLISH, 250, 241), (JAPANESE, 466, 480)])
def test_prose_is_estimated_within_a_tenth_of_either_tokenizer(text: str, claude: int, cl100k: int) -> None:
    assert estimate_tokens(text) == pytest.approx(claude, rel=0.1)
    assert estimate_tokens(text) == pytest.approx(cl100k, rel=0.1)


@pytest.mark.parametrize(("text", "claude"), [(MARKDOWN, 230), (CODE, 262), (MIXED, 232)])
def test_markdown_and_code_are_estimated_within_a_tenth(text: str, claude: int) -> None:
    assert estimate_tokens(text) == pytest.approx(claude, rel=0.1)


@given(st.text(), st.text())
def test_a_text_costs_no_more_than_its_halves_on_their_own(before: str, after: str) -> None:
    together = estimate_tokens(before + after)
    assert together <= estimate_tokens(before) + estimate_tokens(after) + 2


@pytest.mark.parametrize(("tool", "counted"), [(MAIL_EN, 122), (MAIL_JA, 146)])
def test_a_definition_is_estimated_within_a_tenth(tool: dict[str, Any], counted: int) -> None:
    assert estimate_tokens(tool) == pytest.approx(counted, rel=0.1)


def test_definitions_add_up() -> None:
    assert definition_tokens([MAIL_EN, MAIL_JA]) == estimate_tokens(MAIL_EN) + estimate_tokens(MAIL_JA)


def test_text_is_counted_as_it_stands_and_nothing_is_nothing() -> None:
    assert estimate_tokens("send mail") == 2
    assert estimate_tokens("送信") == 2
    assert estimate_tokens("привет") == 3
    assert estimate_tokens("") == 0


def test_letters_without_end_are_not_one_word() -> None:
    assert estimate_tokens("a" * 24) == 2
    assert estimate_tokens("a" * 100_000) > 4_000
    assert estimate_tokens("A" * 100_000) > 4_000
