"""Whether a question is a request or a statement.

In a request, a word that no tool has is a value: the name in `contact tanaka`. In a statement, it shows that the text
is about something else: `she whispered that brightness fades`.
"""

from __future__ import annotations

import re

from ._told import is_aside, is_personal, is_said, is_told

__all__ = ["REQUEST_VERBS", "is_alphabetic", "is_clear_request", "is_statement"]

# Subjects and finite verbs of statements. `my`, `me` and `you` are in requests too: `my invoices`.
_STATEMENT = re.compile(
    r"\b(?:i|he|she|they|we|it|him|her|his|hers|their|theirs|our|ours|(?:him|her|them|our|it)sel(?:f|ves)"
    r"|(?:no|every|some|any)(?:body|one)|nothing|everything|am|is|isn't|are|aren't|was|wasn't|were|weren't|has|hasn't"
    r"|had|hadn't|did|didn't|been|always|never|still|so|too|yet|ever)\b"
)
_REQUEST = re.compile(
    r"\?|\b(?:please|help|need|wants?|wanna|looking (?:for|to)|like to|'d like|wonder(?:ing)?|curious|try(?:ing)? to"
    r"|hop(?:e|ing) to"
    r"|would be (?:great|good|nice|lovely|helpful|useful|cool|handy) (?:to|if)|i'd love to"
    r"|(?:somebody|someone) (?:should|must|has to)"
    r"|(?:can|could|would|will|do|did|have|are) you|(?:can|could|should|shall|may|do|must|how) (?:i|we)"
    r"|(?:i|we) (?:must|have to|got to|should)"
    r"|(?:tell|show|give|get|find|send|let|remind|teach|bring|fetch|make|set|book) (?:me|us)"
    r"|how (?:to|do|does|did|can|could|much|many|long|far|often|about)|what(?:'s| is| are| was| were| will)"
    r"|i'm (?:looking|interested)|(?:is|are) there|suggest(?:ions?)?|recommend(?:ations?)?)\b"
)
# The first word of a clause: requests begin with a verb or a question word.
_BEGINS = re.compile(
    r"(?:^|[,.;:!()\"]|\b(?:and|then|but|so|now|also|hi|hello|hey|ok|okay)\b)[\s\W]*"
    r"(?:(?:now|then|just|also|please)\s+)*([a-z]+)"
)
_CLAUSE_BEGINS = re.compile(r"(?:^|[,.;:!()\"])[\s\W]*([a-z]+)")
_QUESTIONS = "who whose what when where which why how is are was were do does did has have can could will would should"
_FIRST_WORDS = """
    add adjust analyse analyze answer append apply approve archive arrange assess assign attach block book build buy
    calculate call cancel change check clear clone close collect combine compare compile compute configure confirm
    connect convert copy count create cut decode define delete deploy describe design detect determine disable discover
    display download draft draw duplicate edit email enable encode enter escalate estimate evaluate examine execute
    explain explore export extract fetch file fill filter find fix flag follow forecast format forward gather generate
    get give go grab grant hide identify import increase inform insert inspect install invite join keep label launch
    list load locate lock log look lookup lower make manage map mark measure merge message modify monitor move mute name
    notify obtain open optimize order pass pause pay perform pick pin ping place plan play plot post predict prepare
    preview print process provide publish pull purchase push put query raise rank read rebook record reduce refund
    register reject remind remove rename replace reply report request reschedule reserve reset resize resolve restart
    restore resume retrieve return revert review revoke rotate run save scan schedule search select send set share ship
    show sign simulate skip solve sort split start stop store submit subscribe suggest summarise summarize swap switch
    sync tag take tell test track train transfer translate trigger turn undo uninstall unlock update upgrade upload use
    validate verify view watch write
"""
_QUESTION_WORDS = frozenset(_QUESTIONS.split())
REQUEST_VERBS = _QUESTION_WORDS | frozenset(_FIRST_WORDS.split())
"""The words that a request in English begins with."""
_HAN = re.compile("[\u3400-\u9fff]")
_KANA = re.compile("[\u3041-\u30fa\u30fc]")

# A topic or subject with a predicate, or a sentence-final verb.
_JAPANESE_STATEMENT = re.compile(
    "(?:(?<=[^\\s\u3041-\u3096])|(?<=..))[はがも](?![\\s、。の]|$)|(?:[ただるねよさわぞぜ]|ない|です|ます|なあ|なぁ|しい|かな|ってば|もん|じゃん|っけ|おめでとう|やすみ|ありがとう|久しぶり)"
    "[。！!\\s]*$"
)
_QUOTED = re.compile('「[^」]*」|『[^』]*』|“[^”]*”|"[^"]*"')
# `メールを送る` names what to do; `音楽を聴いている` tells what is done.
_JAPANESE_REQUEST = re.compile(
    "[?？]|教え|知りたい|^[^はがも]*を[^はがも、。]*[^てでい]る[。！!\\s]*$"
    "|(?:[てでかは]|下さい|ください|くれ|たい|たいです|ほしい|欲しい|お願い.*|頼む|どう|何|いくら|いつ|どこ)"
    "[。！!\\s]*$"
)
_CHINESE_STATEMENT = re.compile(
    "[我你他她它们是了着过很真也就不没吗呢吧啊这那]|^(?:恭喜|祝)|[最太好][^的]{1,3}$|比.+[还更]|像.+一样|(?:快乐|愉快|晚安|你好|大家好)$"
)
_CHINESE_REQUEST = re.compile(
    "[?？请]|帮我|我要|我想(?!你)|希望|想要|需要|查|找|怎么[^样]|如何|多少|哪|什么|能不能|能否|可否|可不可以|告诉我"
    "|[\u3400-\u9fff] +[\u3400-\u9fff]"
    # Orders begin with the verb.
    "|^(?:提醒|总结|翻译|播放|打开|关闭|删除|创建|新建|添加|增加|发送|取消|预订|预约|下载|上传|计算|转换|显示|列出|推荐|设置|修改|更新|分享"
    "|搜索|搜|生成|编写|安排|记录|导出|导入|重启|部署|合并|复制|移动|比较|分析|检查|验证|订阅|购买|支付|查看|冻结|转发|回复|朗读|修复|标记|归档|邀请|注册|登录|启动|停止|给.+发)"
)


# An order in English: a verb that may be in no list, before what it is done to. `wrap up sprint 14`, `bin that page`.
_ORDER = re.compile(
    r"(?:^|[,;:.!?]\s+)(?:please\s+|then\s+)?([a-z]{2,})\s+(?:[A-Z][\w.-]*\s+)?"
    r"(?:the|an?|my|our|your|his|her|their|this|that|these|those|it|them|him|me|us|all|every\w*|some|any\w*|both|up|down"
    r"|out|off|back|away|one|two|three|\d+)\b"
)
# Words before these that are no such verb: of grammar, and past tenses that do not end in `ed`.
_NO_ORDER_WORDS = """
    an the this that these those my your his her its our their some any no every each all both few many much most other
    such what which who whose when where why how you he she it we they me him us them one two three nobody somebody
    everybody everyone someone nothing everything something anything and or but so if then while after before because
    since until though although as than by in on at to of for from with without about into over under through between
    against during like not never always still just only even also too very really maybe perhaps once twice again soon
    later now today tomorrow yesterday tonight here there is are was were be been am do does did has have had can could
    will would shall should may might must yes yeah nope ok okay oh well hi hey hello please thanks sorry good great
    nice because half except wow ah haha lol omg damn gosh yay hooray ugh hmm boy man life dad mom kids people
    ate bought broke brought built came caught dug drove fell felt fought found gave got grew heard held hung kept knew
    lay led left lost made meant met paid ran rang said sang sank sat saw sent shook slept spent spoke stole stood stuck
    struck swam taught thought threw told took went woke won wore wrote
"""
_NO_ORDER = frozenset(_NO_ORDER_WORDS.split())
_NO_VERB = ("ed", "ing", "ly")
_CHINESE_ORDER = re.compile("^(?:把|帮|给我|用.+总结)")


def is_alphabetic(text: str) -> bool:
    """Whether `text` is neither Japanese nor Chinese."""
    return _KANA.search(text) is None and _HAN.search(text) is None


def is_clear_request(text: str) -> bool:
    """Whether `text` asks for something in so many words: a question, or an order. False if in doubt."""
    if _KANA.search(text):
        return _JAPANESE_REQUEST.search(text) is not None
    if _HAN.search(text):
        return _CHINESE_REQUEST.search(text) is not None or _CHINESE_ORDER.search(text) is not None
    plain = text.strip().replace("’", "'")
    if _REQUEST.search(plain.lower()) is not None:
        return True
    first = _BEGINS.match(plain.lower())
    if first is not None and first[1] in REQUEST_VERBS:
        return True
    verbs = (match[1] for match in _ORDER.finditer(plain[:1].lower() + plain[1:]))
    return any(_may_be_order(verb) for verb in verbs)


def _may_be_order(verb: str) -> bool:
    is_third_person = verb.endswith("s") and not verb.endswith("ss")
    return verb not in _NO_ORDER and not is_third_person and not verb.endswith(_NO_VERB)


def is_statement(question: str) -> bool:
    """Whether `question` is a statement; False for a few words without a verb, such as names."""
    outside = _QUOTED.sub(" ", question)  # what is quoted is a value
    question = outside if outside.strip() else question
    if _KANA.search(question):
        return _JAPANESE_STATEMENT.search(question) is not None and _JAPANESE_REQUEST.search(question) is None
    if _HAN.search(question):
        return _CHINESE_STATEMENT.search(question) is not None and not is_clear_request(question)
    plain = question.strip().replace("’", "'")
    lower = plain.lower()
    begins = _BEGINS.findall(lower)
    if is_personal(lower):
        return REQUEST_VERBS.isdisjoint(begins[1:])
    if _REQUEST.search(lower) is not None:
        return False
    if is_said(lower):
        return REQUEST_VERBS.isdisjoint(begins[1:])
    is_told_so = is_told(lower, REQUEST_VERBS.__contains__)
    if is_told_so or is_aside(lower):  # then `and put` goes on with the story
        begins = [
            word for word in _CLAUSE_BEGINS.findall(lower) if word not in _QUESTION_WORDS or lower.startswith(word)
        ]
        return REQUEST_VERBS.isdisjoint(begins[1:] if is_aside(lower) else begins)
    if _STATEMENT.search(lower) is None or _begins_with_order(plain):
        return False
    return REQUEST_VERBS.isdisjoint(begins)


def _begins_with_order(plain: str) -> bool:
    order = _ORDER.match(plain[:1].lower() + plain[1:])
    return order is not None and _may_be_order(order[1])
