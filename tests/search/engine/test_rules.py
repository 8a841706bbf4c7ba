"""What is indexed of a tool changes only together with `RULES_VERSION`: saved catalogues depend on it."""

from __future__ import annotations

import hashlib
from typing import Any

from hikidashi.search.engine.analyzer import FUNCTION, FUNCTION_BIGRAMS, IRREGULAR, Analyzer
from hikidashi.search.engine.embeddings import text_of
from hikidashi.search.engine.entry import entry_of
from hikidashi.search.engine.index import FIELD_WEIGHTS, MAX_TERMS, weighted_terms
from hikidashi.search.engine.patterns import searchable_text
from hikidashi.search.engine.saved import RULES_VERSION, digest_of

DIGESTS = {
    1: "90441cba58812bcc",
    2: "76aa4abe1c587fdc",
    3: "edefd05e03eb4b47",
}
"""The digest of what is indexed, by `RULES_VERSION`. Add lines, and keep the old ones."""

ROOTS = """
    play survey plan travel call process pass fix watch push buzz city die use note table price image cancel organiz
    realis notif creat transl deci admiss pay settl formal quick bright happi bu gas analys status visit feed need
"""
ENDINGS = """
    s es ies ed ied eed ing ning ling er ner ler ator ate ise ize ization isation ification ation sion tion ment at
    ally ly y e ss us is sses xes ches shes zzes ness able
"""
WORDS = " ".join([root + ending for root in ROOTS.split() for ending in ["", *ENDINGS.split()]])
NAMES = """
    send_mail sendMail SendMail send-mail send.mail mail/send mail:send getHTTPResponse listURLs parseJSON2CSV mp3 iOS
    v2 s3_get_object oauth2-token utf-8 e-mail GitHub read_only create_or_update_calendar_event ALL_CAPS x _private
    __dunder__ a1b2c3 1password 3d_print user@example.com https://example.com/a?b=c C++ .env don't it's O'Brien
    get_user_by_id_v2 SQLQuery htmlToPDFs snake__twice kebab--twice trailing_ 2024-01-31 12:30 50% $5
"""
TEXTS = (
    "Send an e-mail to one or more people, with files attached. It can't be undone; use `draft_mail` first.",
    "Returns the user's colours, catalogues, apps and infos (behaviour: cancelled).",
    "Verschickt eine Überweisung; Straße, Maß, größer, Rechnungsversand.",
    "Envía un correo electrónico a mañana: ¿dónde está el niño?",
    "Envoie un reçu à l'hôtel, où l'élève préféré s'est arrêté. Œuvre, naïve, Noël.",
    "メールを送信してください。請求書の一覧を取得する。ｶﾀｶﾅとカタカナ、ﾃﾞｰﾀベース、コーヒー、東京都千代田区でのテスト２０２４年",
    "发送电子邮件给一个或多个人。查询明天的天气预报，龍龙，〇二〇二五年",
    "이메일을 보냅니다. 내일의 날씨를 알려 주세요.",
    "ส่งอีเมลถึงผู้ใช้ ສົ່ງອີເມວ ལག་པ အီးမေးလ်ပို့ပါ ផ្ញើអ៊ីមែល",
    "Отправить письмо; ёлка, Её, ЙОД. Στείλε ένα μήνυμα, ΑΣ, ώρα.",
    "שלח דואר אלקטרוני אל הַמִּשְׁתַּמֵּשׁ",
    "أرسِل بريدًا إلكترونيًا إلى المستخدم ١٢٣",
    "ईमेल भेजें और कल का मौसम देखें। மின்னஞ்சல் அனுப்பு",
    "Zażółć gęślą jaźń; İstanbul ısı; Ｆｕｌｌｗｉｄｔｈ ﬁne ½ ² Ⅳ ™ ①",
    "soft\u00adhyphen zero\u200bwidth \ufeffmark emo\U0001f600ji flag\U0001f1ef\U0001f1f5 e\u0301",
    "tabs\tand\nlines\r\nand\u2028more\u00a0spaces",
    "GitHubのissueを作成 Slack通知API連携 2件のPR e-mailアドレス",
)
TOOLS: list[dict[str, Any]] = [
    *({"name": f"text_{number}", "description": text} for number, text in enumerate((WORDS, NAMES, *TEXTS))),
    {
        "name": "send_mail",
        "title": "Send Mail",
        "description": "Sends mail.\n\nTo anybody.",
        "aliases": ["post letter", "手紙を出す"],
        "tags": ["office"],
        "input_schema": {
            "type": "object",
            "properties": {
                "to": {"type": "array", "items": {"$ref": "#/$defs/Person"}, "description": "Who gets it"},
                "format": {"enum": ["html", "plain text", 3, None], "description": "How it is written"},
                "kind": {"anyOf": [{"enum": ["urgent"]}, {"allOf": [{"properties": {"reason": {}}}]}]},
                "zone": {"enum": [f"zone{number}" for number in range(41)]},
                "deep": {"properties": {"er": {"properties": {"est": {"description": "Who gets it"}}}}},
            },
            "$defs": {
                "Person": {"properties": {"address": {"description": "E-mail"}, "of": {"$ref": "#/$defs/Person"}}}
            },
        },
    },
    {
        "type": "function",
        "function": {"name": "openai", "description": "OpenAI", "parameters": {"properties": {"q": {}}}},
    },
    {
        "name": "mcp",
        "inputSchema": {"properties": {"q": {}}},
        "annotations": {"title": "Hint"},
        "_meta": {"tags": ["t"]},
    },
    {"name": "strands", "inputSchema": {"json": {"properties": {"deeply": {"description": "nested"}}}}},
    {"name": "long", "description": "word " * (MAX_TERMS + 2)},
]


def indexed() -> str:
    """What is indexed of `TOOLS`, and the tables that decide about words that are not in them."""
    analyzer = Analyzer()
    tables = [sorted(FUNCTION), sorted(FUNCTION_BIGRAMS), sorted(IRREGULAR.items()), sorted(FIELD_WEIGHTS.items())]
    entries = [entry_of(tool) for tool in TOOLS]
    terms = [list(weighted_terms(entry, analyzer)) for entry in entries]
    searched = [(digest_of(entry), searchable_text(entry)) for entry in entries]
    return repr((tables, terms, searched, list(map(text_of, entries))))


def test_what_is_indexed_changes_only_with_the_version_of_the_rules() -> None:
    digest = hashlib.sha256(indexed().encode()).hexdigest()[:16]
    assert DIGESTS.get(RULES_VERSION) == digest, (
        f"Terms changed: raise RULES_VERSION in `engine/saved.py` to {len(DIGESTS) + 1}, so that files of the "
        f"old rules are refused, and add `{len(DIGESTS) + 1}: {digest!r}` to DIGESTS here."
    )


def test_each_digest_is_of_one_version_of_the_rules() -> None:
    assert len(set(DIGESTS.values())) == len(DIGESTS) == RULES_VERSION
