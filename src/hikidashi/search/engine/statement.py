"""Whether a question is a request, a statement or only talk, in each language; a message as requests to search.

In a request, a word that no tool has is a value: the name in `contact tanaka`. In a statement, it shows that the text
is about something else: `she whispered that brightness fades`. Statements share words with tools by chance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, cast

from .analyzer import Analyzer, fold, is_everyday, is_request, stem
from .glossary import Lexicon, bases, everyday_words, plain_letters

__all__ = [
    "is_alphabetic",
    "is_clear_request",
    "is_clear_request_in",
    "is_statement",
    "is_statement_in",
    "is_talk",
    "requests_in",
    "text_of",
]

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


# Past tenses that are no participles, and third persons of verbs that are neither nouns nor what a tool does.
_VERBS = re.compile(
    r"(?<!that )(?<!who )(?<!which )\b(?:ate|became|began|blew|broke|came|cried|drank|drove|fell|felt|flew|forgot"
    r"|fought|froze|gave|got|grew|heard|knew|laughed|looked like|meant|rang|said|sang|sat|saw|shone|slept|smelled|smelt"
    r"|smiled|spoke|stank|stood|stole|swam|tasted|thought|threw|told|took|tore|went|wept|whispered|woke|wore"
    r"|smells|tastes|feels|seems|hurts|loves|hates|says|thinks|sleeps|snores|laughs|smiles|cries|goes|comes|wears|barks"
    r"|(?:made|makes|make|keeps|kept|drives|drove) (?:me|us|him|her|them|you|everyone|everybody))\b"
)
# A noun phrase and a verb that ends in `ed`, unless it is what is done to the thing: `the orders shipped to Bonn`.
_PAST = re.compile(
    r"(?:^|[,.;!] )(?:the|my|our|your|his|her|their|an?|this|that|these|those|every|each|some|no|one|two) "
    r"(?:[a-z'-]+ ){1,4}?([a-z]{2,}ed)\b(?! (?:by|in \d))"
)
_THIRD_PERSON = re.compile(r"\b(?:he|she|they|(?:no|every|some)(?:body|one)) (?:\w+ly )?[a-z]{2,}ed\b")
_DONE_TO = """
    attach base bill bound charge connect date delay deliver expire fail hire host invoice link locate mention need owe
    own park price rate receive relate require ship store unread
"""
_DONE = frozenset(_DONE_TO.split())
_SAID = re.compile(
    r"^(?:oh |wow |ah )?what an? (?!(?:\w+ ){1,4}(?:costs?|does|means?|is|needs?)\b)"
    r"|^(?:congratulations|congrats|cheers)\b"
    r"|^happy (?:birthday|new year|holidays|anniversary|easter)(?=\W*$|,|!| to| my| dear)|^merry christmas"
    r"|^good (?:morning|evening|afternoon|night)(?=\W*$|,? (?:every|all|my|sir|dear|sleep|folks|world|sunshine))"
    r"|^(?:thanks|thank you)(?: so much| a lot| a million)?(?=\W*$| for|, (?:you|that|it)\b)"
    r"|^nice to meet|^see you\b|^sorry,"
    r"|^(?:lol|omg|(?:ha|he|hi|ja|je){2,})\b"
)
_PEOPLE = re.compile(
    r"^(?:my|our|your|his|her|their) (?:best |old |dear |little |big )?(?:mother|father|mum|mom|dad|parents|sister"
    r"|brother|son|daughter|kids?|wife|husband|aunt|uncle|cousins?|gran\w*|friends?|neighbou?rs?|boss|boyfriend"
    r"|girlfriend|roommate) (?:\S+ ){1,}\S+"
)
_ASIDE = re.compile(r"^(?:when|while|if|because|since|by the time) (?:i|we|he|she|they|you|it|my|our|the)\b")
_PERSONAL = re.compile(
    r"^(?:are you an? |do you (?:ever|like|love|feel|believe|dream|sleep|enjoy|prefer|hate)\b"
    r"|how (?:are|have) you\b|how do you feel|(?:who|what)(?:'s| is| are) your (?:favou?rite|name|mood|dream|opinion)"
    r"|tell me about (?:yourself|you)\b|what's up\b)"
)


def is_said(lower: str) -> bool:
    """Whether a sentence, in lower case, is an exclamation or a good wish."""
    return _SAID.search(lower) is not None


def is_personal(lower: str) -> bool:
    """Whether a question, in lower case, is about the one who is asked."""
    return _PERSONAL.search(lower) is not None


def is_aside(lower: str) -> bool:
    """Whether the question word that a sentence begins with joins clauses: `when I was seven`."""
    return _ASIDE.search(lower) is not None


def is_told(lower: str, is_order: Callable[[str], bool]) -> bool:
    """Whether a sentence has a verb that tells something.

    Args:
        lower: The sentence in lower case, with straight apostrophes.
        is_order: Whether a word is a verb that requests begin with.
    """
    if _VERBS.search(lower) or _PEOPLE.search(lower) or _THIRD_PERSON.search(lower):
        return True
    return any(not _is_participle(found[1], is_order) for found in _PAST.finditer(lower))


def _is_participle(verb: str, is_order: Callable[[str], bool]) -> bool:
    """Whether a verb that ends in `ed` is one that things of tools are described with: `created`, `shipped`."""
    stems = (verb[:-2], verb[:-1], verb[:-3], verb[:-3] + "y")
    return any(stem in _DONE or is_order(stem) for stem in stems)


_STATEMENT_FORMS = {
    "de": """er sie es wir man ich du niemand jemand jeder keiner alle war waren hat hatte hatten ist sind wurde
        wurden bin bist habe hast mir dir mich dich immer nie niemals manchmal fruher einmal nicht kein
        keine keinen schon doch seid warst wart hab musste mussten wollte durfte ging gingen kam kamen sah fiel stand
        lief sang sprach schrieb blieb blieben fand gab nahm trug sass lag rief roch hiess wuchs starb schlief dachte
        brachte kannte wusste dauerte machte sagte lachte weinte spielte wohnte kochte liebte lebte fragte""",
    "es": """ella ellos ellas nadie alguien todos siempre nunca jamas era eran estaba estaban habia fue fueron es esta
        estan son soy se me le les yo tu nos creo ni eres estoy estas estamos somos estuve estuvo estuvimos fui fuimos
        tuve tuvo hubo hizo hice dijo dije vino vine puso quiso supo dio dieron tenia queria podia decia vivia solia
        olia sentia parecia creia veia reia dormia naci perdi comi vivi sali volvi dormi rei""",
    "fr": """il elle ils elles on nous je j tu personne rien toujours jamais etait etaient avait avaient est sont ont
        fut ne n c ca suis es sommes etes etais etions ai as avons avez avais m t me te sera seront serai""",
    "ko": "",
}
_REQUEST_FORMS = {
    "de": """bitte mochte mochten will wollen brauche brauchen kann kannst konnen konntest konnte soll sollen zeig zeige
        gib hilf benotige benotigen suche suchen""",
    "es": """favor quiero quisiera queremos querria necesito necesitamos puedes puede podrias podria podemos dame dime
        gustaria busco buscamos buscando deseo""",
    "fr": """plait veux voulons voudrais voudrait voudrions souhaite souhaiterais souhaitons dois devons aimerais
        aimerions peux peut pouvez pourrais pourriez besoin cherche cherchons""",
}
# Wishes in which letters with accents count: `wüsste` is a wish, `wusste` the past tense.
_WISH = {
    "de": re.compile(r"\b(?:wüssten?|bräuchten?|hätten?|würden?) |\bmuss\b"),
    "es": re.compile(r"\b(?:hacen? falta|tengo que|tenemos que|hay que)\b"),
    "fr": re.compile(r"\bil (?:me|nous) fau(?:t|drait)\b|\bil faudrait\b"),
}
# Past tenses, exclamations and good wishes to people: statements, also if they begin like a question or an order.
_TOLD = {
    "de": re.compile(
        r"\b(?:nichts|niemand|nie)\b|\bwas für ein|^(?:vielen )?danke? für|glückwunsch|^alles gute\b"
        r"|^gute (?:nacht|besserung)"
        r"|^viel (?:glück|spaß|erfolg)|tut mir leid|^bis (?:morgen|später|bald|dann)(?=\W*$|,)"
        r"|freut mich|schönes wochenende"
        r"|^frohe[sn]?\b|^(?:ha){2,}"
    ),
    "es": re.compile(
        r"\btodo el mundo\b|\b(?:nada|nadie|nunca|jamás)\b|\b\w{3,}ó\b|\bqué \w+ (?:tan|más)\b"
        r"|^(?:muchas |mil )?gracias por|^feliz|enhorabuena"
        r"|felicidades|^lo siento|^hasta (?:luego|mañana|pronto)|nos vemos|^(?:ja){2,}|^(?:je){2,}|^así es\b"
    ),
    "fr": re.compile(
        r"\btout le monde\b|\b(?:rien|jamais)\b"
        r"|\b(?:a|ont|ai|as|avons|avez) (?:\w+ )?(?:\w+(?:é|ée|és|ées)|fait|dit|ri|vu|pris|mis|eu|été|perdu)\b"
        r"|^merci (?:beaucoup )?(?:pour|de|d')|^joyeu(?:x|se)"
        r"|^bonne? (?:anniversaire|nuit|journée|soirée|chance|année|semaine)"
        r"|félicitations|^désolée?|^à (?:demain|bientôt|plus)|^enchantée?|^on verra"
    ),
}
# `mi abuela cocina de maravilla`: about people that one has.
_OWN = {
    "de": "mein meine dein deine unser unsere sein seine ihr ihre",
    "es": "mi mis tu tus su sus nuestro nuestra nuestros nuestras",
    "fr": "mon ma mes ton ta tes son sa ses notre nos",
}
_EXCLAMATION = {
    "de": re.compile(r"(?!)"),
    "es": re.compile(r"\bqué ((?:\w+ ?){1,3})(?=[^\w ]|$)"),
    "fr": re.compile(r"\bquel(?:le)?s? ((?:\w+ ?){1,3})(?=[^\w ]|$)"),
}
# Question words, if first or second: later they join clauses.
_FIRST = {
    "de": "wie was wo wann welche welcher welches welchen wer warum wieviel wieviele",
    "es": "como cual cuales que donde cuanto cuanta cuantos cuantas cuando quien",
    "fr": "quel quelle quels quelles comment combien quand ou qui",
}
# Before a sentence, they say nothing about it.
_GREETINGS = {
    "de": "danke hallo hey hi guten gute tag morgen abend servus moin vielen dank liebe lieber grusse na ja nein",
    "es": "hola gracias mil muchas buenos buenas dias tardes noches si no bueno pues oye",
    "fr": "bonjour bonsoir salut merci mille fois beaucoup coucou oui non bon ah oh",
}
_IMPERFECT = {"de": (), "es": ("aba", "aban", "abamos"), "fr": ("ait", "aient")}
_INFINITIVES = {"de": ("en", "ern", "eln"), "es": ("ar", "er", "ir"), "fr": ("er", "ir", "re", "oir")}
_PAST_ENDINGS = {"de": (), "es": ("aba", "aban", "ia", "ian"), "fr": ("ait", "aient")}  # past tenses
_QUESTION = re.compile(r"[?？¿]")
_KOREAN_STATEMENT = re.compile(
    r"([가-힣]*(?:다|네|군|구나|지|어|아|요|야|더라|거든|는데|봐|축하해))[.!…~\s]*$"
    r"|[이가은는] (?:.* )?([가-힣]+해)[.!…~\s]*$"
)
_KOREAN_REQUEST = re.compile(
    r"줘|주세요|주십|주실|바랍|부탁|싶|알려|보여|찾아|까요|나요|을까|ㄹ까|어때|얼마|어디|무엇|뭐|언제(?!나)|하기|해라"
    r"|필요|몇|수 있|[을를] (?:.* )?[가-힣]+세요"
)

_STATEMENT_WORDS_OF = {language: frozenset(words.split()) for language, words in _STATEMENT_FORMS.items()}
_REQUEST_WORDS = {language: frozenset(words.split()) for language, words in _REQUEST_FORMS.items()}
_GREETING_WORDS = {language: frozenset(words.split()) for language, words in _GREETINGS.items()}
_OWN_WORDS = {language: frozenset(words.split()) for language, words in _OWN.items()}
_LONG = 5  # letters: `fait`, `lait`
_QUESTION_FORMS = {language: frozenset(words.split()) for language, words in _FIRST.items()}


def is_statement_in(text: str, words: Sequence[str], lexicon: Lexicon) -> bool:
    """Whether `text` in the language of `lexicon` is a statement.

    Args:
        text: A question.
        words: Its words in plain lower-case letters; not used for Korean.
        lexicon: The glossary of the language.
    """
    if _QUESTION.search(text):
        return False
    language = lexicon.language
    if language == "ko":
        told = _KOREAN_STATEMENT.search(text)
        if told is None or _KOREAN_REQUEST.search(text) is not None:
            return False
        last = told[1] or told[2]
        return last.endswith("세요") or last not in lexicon.meanings  # nouns end like verbs: 메시지, 영어
    words = _without_greetings(words, language)
    lower = text.lower().replace("’", "'").strip()
    if not words or _REQUEST_WORDS[language].intersection(words) or _WISH[language].search(lower):
        return not words
    if _TOLD[language].search(lower) or _is_exclamation(lower, language) or _is_about_people(words, language):
        return True
    if not _STATEMENT_WORDS_OF[language].intersection(words) and not _is_told(words, lexicon):
        return False
    return not _QUESTION_FORMS[language].intersection(words[:2]) and not _is_verb(words[0], lexicon)


def is_clear_request_in(text: str, words: Sequence[str], lexicon: Lexicon) -> bool:
    """Whether `text` asks for something in so many words: a question, a wish, or an order. False if in doubt."""
    if _QUESTION.search(text):
        return True
    language = lexicon.language
    if language == "ko":
        return _KOREAN_REQUEST.search(text) is not None
    words = _without_greetings(words, language)
    if not words or _REQUEST_WORDS[language].intersection(words) or _WISH[language].search(text.lower()):
        return bool(words)
    return words[0] in _QUESTION_FORMS[language] or _is_verb(words[0], lexicon)


def _is_about_people(words: Sequence[str], language: str) -> bool:
    return len(words) > 2 and words[0] in _OWN_WORDS[language] and words[1] in everyday_words(language)


def _is_exclamation(lower: str, language: str) -> bool:
    """Whether a question word introduces everyday words alone, up to the end of the clause: `quelle belle surprise`."""
    known = everyday_words(language)
    clauses = (plain_letters(found[1]).split() for found in _EXCLAMATION[language].finditer(lower))
    return any(any(not known.isdisjoint(bases(word, language)) for word in words) for words in clauses)


def _without_greetings(words: Sequence[str], language: str) -> Sequence[str]:
    first = next((place for place, word in enumerate(words) if word not in _GREETING_WORDS[language]), len(words))
    return words[first:]


def _is_told(words: Sequence[str], lexicon: Lexicon) -> bool:
    """Whether a verb is in the imperfect, the tense of stories: `ma grand-mère chantait`."""
    endings = _IMPERFECT[lexicon.language]
    return any(len(word) > _LONG and word.endswith(endings) and word not in lexicon.meanings for word in words[1:])


def _is_verb(word: str, lexicon: Lexicon) -> bool:
    if word.endswith(_PAST_ENDINGS[lexicon.language]):
        return False
    endings = _INFINITIVES[lexicon.language]
    return any(base.endswith(endings) and base in lexicon.meanings for base in bases(word, lexicon.language))


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
