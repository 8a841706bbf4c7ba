"""A user's message as requests to search: its text, its sentences and clauses, and which of them are only talk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, cast

from .analyzer import Analyzer, fold, is_everyday, is_request
from .statement import REQUEST_VERBS, is_alphabetic, is_clear_request
from .stem import stem

__all__ = ["is_alphabetic", "is_clear_request", "is_talk", "requests_in", "text_of"]

_PARTS = 8  # sentences of a message that are searched: the first and the last, if there are more
_LONGEST = 300  # characters of one of them
_READ = 4_000  # characters at the beginning and at the end of a long message that are read

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|[\n\r;；•]+")
# Where another request begins: in English with a verb, since `and` also joins nouns.
_CLAUSE = re.compile(
    r",?\s+(?:(?:and|then|also|plus|after that|afterwards)[\s,]+)+(?:please\s+)?"
    rf"(?=(?:{'|'.join(sorted(REQUEST_VERBS))})\b)"
    r"|,?\s+(?:und|dann|y|luego|et|puis)(?:\s+(?:dann|luego|puis))?\s+"
    r"|、(?:それから|そして|次に)|(?<=[てで])、|(?<=[てで])から|[,，]?(?:然后|并且|接着|同时)|하고\s|\s(?:그리고|그다음)\s",
    re.IGNORECASE,
)
# `tell` and `ask` are polite phrases to a search (`tell me about …`), but not where a message is for another person.
_TELL = re.compile(r"^(?:tell|ask) (?!me\b|us\b|you\b|about\b|an?\b|if\b|whether\b|for\b|what\b)", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_SHORTEST_UNSPACED = 4  # characters of a clause without spaces

# What people say to each other and not to a tool, beside the everyday words and polite phrases that a search knows.
_CONVERSATION = """
    agree ahead answer ask awesome bye certainly cheers continue correct course day evening exactly explain fantastic
    goodbye haha hmm idea interesting joke mean meant morning afternoon name nevermind night no nope oh one point
    proceed question repeat resume sense sentence simpler shorter soon sound story tomorrow understood welcome wonderful
    wow yeah yep yes yesterday today tonight later weekend
    abend auf bin bis bitte danke dank dir doch du entschuldigung es freut geht genau gern gerne gut guten hallo ja klar
    mir morgen nein nochmal perfekt sehr super tag vielen wie weiter warum
    adios bien buenas buenos como dias esta estas estoy gracias hasta hola luego manana mucho muchas muy noches
    perfecto por favor porque que si tal tardes todo tu vale
    allo beaucoup bonjour bonsoir ca comment je merci moi non oui parfait pas plait pourquoi rien salut toi va
    voila vous
"""
# Phrases of which single words are those of requests.
_SET_PHRASES = re.compile(
    r"\b(?:(?:that |it |this )?makes (?:perfect |total |a lot of )?sense|sounds (?:like a plan|good|great|fine|fun)"
    r"|keep up the \w+ work|keep it up|see you (?:there|soon|later|around|then)|take (?:care|it easy|your time)|no way"
    r"|have a (?:\w+ )?(?:day|evening|weekend|one|trip|time)|hang in there|made my day|fair enough|no worries|well done"
    r"|(?:good|nice|great) (?:job|work|luck|point|catch|idea|one)|my bad|cross your fingers|fingers crossed|break a leg"
    r"|long story short|never mind|what do you know|tell me about it|you name it|give me a break|my pleasure)\b"
)
_CONVERSATION_TERMS = frozenset(map(stem, _CONVERSATION.split()))
# The same in Japanese, Chinese and Korean: how such a sentence begins.
_CONVERSATION_BEGINS = """
    ありがと 有難う どうも おはよう こんにち こんばん おやすみ さようなら はい いいえ うん 了解 承知 わかりました
    分かりました なるほど すみません ごめん お疲れ 元気 お元気 よろしく もう一度 続けて すごい 素晴らしい 助かり
    いいですね
    谢谢 多谢 你好 您好 早上好 晚上好 晚安 再见 好的 是的 不是 对不起 没关系 继续 明白 知道了 太好了
    감사 고마 고맙 안녕 네 아니 알겠 좋아 미안 죄송 계속 반가
"""
_UNSPACED_TALK = re.compile(f"(?:{'|'.join(_CONVERSATION_BEGINS.split())}).{{0,10}}")


def text_of(message: object) -> str:
    """The text of a user's message, without images and other parts.

    Args:
        message: Text, or content of any framework: strings, dicts or objects with a `text` or `content`, in lists, or
            a whole message with the role "user".
    """
    return "\n".join(filter(None, _texts(message)))


def _texts(content: object) -> Iterable[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        yield from _texts_of_block(cast("Mapping[str, Any]", content))
    elif isinstance(content, list | tuple):
        for part in cast("Iterable[object]", content):
            yield from _texts(part)
    elif content is not None and not isinstance(content, bytes | int | float):
        kind = getattr(content, "type", "text")
        texts = (getattr(content, name, None) for name in ("text", "content"))
        if kind == "text":
            yield from (text for text in texts if isinstance(text, str))


def _texts_of_block(block: Mapping[str, Any]) -> Iterable[str]:
    if block.get("role", "user") != "user" or block.get("type", "text") not in ("text", "message"):
        return
    if isinstance(block.get("text"), str):
        yield block["text"]
    elif "role" in block:
        yield from _texts(block.get("content"))


def requests_in(text: str, most: int, is_left_out: Callable[[str], bool] = lambda part: False) -> list[str]:
    """The parts of `text` to search: all of it if it is short, then each sentence and each clause with a request.

    Of a long text, the first and the last sentences: people write what they want before or after what they paste.

    Args:
        text: What the user wrote.
        most: The maximum length of a query.
        is_left_out: Whether a sentence is not a request, such as `is_talk`; its clauses are left out too.
    """
    whole = " ".join(text.split())
    if len(text) > 2 * _READ:
        text = f"{text[:_READ]}\n{text[-_READ:]}"
    sentences = [part.strip() for part in _SENTENCE.split(text) if _WORD.search(part)]
    if len(sentences) > _PARTS:
        sentences = [*sentences[: _PARTS // 2], *sentences[-_PARTS // 2 :]]
    is_left_out = cache(is_left_out)
    cut = {sentence: _cut(sentence, min(most, _LONGEST)) for sentence in sentences}
    asked = [sentence for sentence in sentences if not is_left_out(cut[sentence])]
    parts = [whole] if len(whole) <= most else []  # sentences that ask for nothing say what the others are about
    for sentence in asked:
        parts += [cut[sentence], *(_cut(clause, _LONGEST) for clause in _clauses(sentence))]
    return [_TELL.sub("send a message to ", part) for part in dict.fromkeys(parts) if part and not is_left_out(part)]


def _clauses(sentence: str) -> list[str]:
    clauses = [clause.strip(" ,、，.") for clause in _CLAUSE.split(sentence)]
    return [clause for clause in clauses if len(clauses) > 1 and _is_phrase(clause)]


def _is_phrase(clause: str) -> bool:
    if _UNSPACED.search(clause):
        return len(clause) >= _SHORTEST_UNSPACED
    return len(_WORD.findall(clause)) > 1


def _cut(text: str, most: int) -> str:
    """`text` cut to `most` characters, between words where there are some."""
    if len(text) <= most:
        return text
    cut = text[:most]
    return cut.rsplit(maxsplit=1)[0] if " " in cut[most // 2 :] else cut


def is_talk(text: str) -> bool:
    """Whether `text` has nothing but everyday words, such as a greeting, thanks or consent."""
    folded = fold(text)
    if _UNSPACED.search(folded):
        return _UNSPACED_TALK.fullmatch("".join(_WORD.findall(folded))) is not None
    terms = (term for term in Analyzer().terms(_SET_PHRASES.sub(" ", folded)) if len(term) > 1)
    return all(is_everyday(term) or is_request(term) or term in _CONVERSATION_TERMS for term in terms)
