"""Passages and questions about them, the same in every run: English of the installed packages, Japanese of a grammar.

Each question is made from one passage, which is what an index should find: words of it, some in another form (plural
for singular, 経費精算 for 経費の精算), some in a sentence with the words people ask with.
"""

from __future__ import annotations

import random
import re
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from pathlib import Path

__all__ = ["Corpus", "Question", "corpus"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the number of the passage it was made from."""

    text: str
    answer: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """Passages as (title, text), and questions in two languages."""

    passages: list[tuple[str, str]]
    english: list[Question]
    japanese: list[Question]


@cache
def corpus(size: int, *, questions: int = 300) -> Corpus:
    """`size` passages, half of them English and half Japanese, in mixed order."""
    chance = random.Random(size)
    english = list(islice(_docstrings(), size // 2))
    japanese = [_passage(chance) for _ in range(size - len(english))]
    passages = [*english, *((title, text) for title, text, _ in japanese)]
    order = list(range(len(passages)))
    chance.shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    asked_in_english = [
        Question(text, place[number])
        for number in chance.sample(range(len(english)), min(len(english), questions * 3))
        if (text := _english_question(chance, english[number][1]))
    ]
    asked_in_japanese = [
        Question(_japanese_question(chance, japanese[number][2]), place[len(english) + number])
        for number in chance.sample(range(len(japanese)), min(len(japanese), questions))
    ]
    return Corpus([passages[old] for old in order], asked_in_english[:questions], asked_in_japanese)


# English: the docstrings of what is installed here.

_DOCSTRING = re.compile(rb'(?:def|class) (\w+)[^\n]*:\n\s+[rR]?"""(.{80,6000}?)"""', re.DOTALL)
_PARAGRAPH = re.compile(r"\n\s*\n")
_FORMS = re.compile(r"(?:ies|ing|ed|s)$")


def _docstrings() -> Iterator[tuple[str, str]]:
    """Pieces of one to three paragraphs with the name they belong to, each once."""
    seen: set[str] = set()
    roots = [sysconfig.get_path("purelib"), sysconfig.get_path("stdlib")]
    for file in chain.from_iterable(sorted(Path(root).rglob("*.py")) for root in roots):
        try:
            source = file.read_bytes()
        except OSError:
            continue
        for name, text in _DOCSTRING.findall(source):
            paragraphs = [piece for piece in _PARAGRAPH.split(text.decode("utf-8", "replace")) if len(piece) > 40]
            for start in range(0, len(paragraphs), 2):
                piece = "\n\n".join(paragraphs[start : start + 3])
                if piece not in seen:
                    seen.add(piece)
                    yield f"{file.stem} {name.decode()}", piece


def _english_question(chance: random.Random, text: str) -> str:
    words = sorted(set(re.findall(r"\b[a-z]{5,14}\b", text)))
    if len(words) < 8:
        return ""
    chosen = [_other_form(chance, word) for word in chance.sample(words, 4)]
    manner = chance.choice(("{}", "{}", "how do I use {}", "what is the {} for?", "where can I find {}"))
    return manner.format(" ".join(chosen))


def _other_form(chance: random.Random, word: str) -> str:
    if chance.random() < 0.7:
        return word
    return _FORMS.sub("", word) if _FORMS.search(word) else word + "s"


# Japanese: sentences about offices and machines, from words that combine freely.

_NOUNS = (
    "経費 精算 承認 申請 期限 予算 契約 更新 請求 支払 在庫 発注 納品 検査 品質 製造 工程 設備 点検 修理 交換 部品 "
    "保証 返品 配送 倉庫 顧客 対応 苦情 調査 報告 会議 議事 資料 共有 閲覧 権限 管理 監査 記録 保存 削除 復元 障害 "
    "復旧 監視 通知 設定 変更 移行 手順 計画 試験 評価 採用 面接 研修 教育 評判 勤怠 休暇 残業 給与 年金 保険 税金 "
    "届出 転勤 住所 家族 健康 診断 安全 避難 訓練 消防 防犯 入館 来客 受付 郵便 印刷 用紙 清掃 廃棄 節電 空調 "
    "温度 湿度 騒音 振動 電源 配線 接続 通信 暗号 認証 証明 署名 翻訳 校正 出版 広告 宣伝 市場 価格 競合 販売 営業 "
    "商談 見積 値引 納期 輸出 輸入 関税 為替 決算 会計 帳簿 資産 負債 投資 融資 株式 配当 法務 特許 商標 訴訟 規程"
)
_LOAN_WORDS = (
    "サーバー データベース ネットワーク プリンター スキャナー モニター キーボード ファイル フォルダー "
    "メール カレンダー アカウント パスワード ログイン バックアップ ストレージ クラウド ブラウザー "
    "アプリ プログラム テスト リリース レビュー ドキュメント マニュアル テンプレート ダッシュボード "
    "グラフ レポート アンケート セミナー オンライン チャット カメラ マイク イヤホン ケーブル "
    "バッテリー センサー ロボット コンベヤー トラック フォークリフト パレット ラベル バーコード レジ "
    "クーポン ポイント キャンペーン ブランド デザイン サンプル カタログ チラシ ポスター イベント "
    "ブース スポンサー パートナー ベンダー ライセンス ガイドライン ポリシー リスク トラブル"
)
_VERBS = (
    "確認 登録 提出 送付 作成 修正 取得 入力 出力 選択 追加 停止 開始 再開 延長 短縮 分割 統合 比較 集計 分析 検討 "
    "相談 依頼 連絡 説明 案内 公開 制限 許可 拒否 回収 補充 調整 測定 計算 予約 中止 完了 担当"
)
_OPENINGS = (
    "{a}の{b}は、{k}を使って{v}します。",
    "{k}で{a}の{b}を{v}するときは、先に責任者へ知らせてください。",
    "{a}に関わる{b}については、{k}の画面から{v}できます。",
    "{k}が使えない場合でも、{a}の{b}は紙で{v}することができます。",
    "毎月の{a}では、{b}を{k}に{v}する決まりです。",
)
_MIDDLES = (
    "{a}の{b}が終わると、結果が担当者に届きます。",
    "もし{a}がうまくいかなければ、{b}をやり直す必要があります。",
    "{k}には過去の{a}が残っているので、{b}の参考になります。",
    "{a}を急ぐ人は、{b}の前に{k}を{v}しておくとよいでしょう。",
    "{b}の担当者は、{a}の内容を翌日までに{v}します。",
    "なお、{a}と{b}は別の部署が{v}しています。",
    "詳しい{a}は{k}に書かれています。",
)


_SUFFIXES = "書 者 率 費 室 表 品 日 先 法 量 権 課 員 票 網"


@cache
def _words() -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """Nouns, alone and with a suffix as in 精算書; loan words, alone and in pairs; verbs."""
    nouns, loan_words = _NOUNS.split(), _LOAN_WORDS.split()
    longer = [noun + suffix for noun in nouns for suffix in _SUFFIXES.split()]
    pairs = [one + other for one in loan_words for other in loan_words[::7] if one != other]
    return nouns * 4 + longer, loan_words * 4 + pairs, _VERBS.split()


def _passage(chance: random.Random) -> tuple[str, str, dict[str, str]]:
    """Title, text, and the words of its first sentence, which a question will use."""
    nouns, loan_words, verbs = _words()
    opening = {
        "a": chance.choice(nouns),
        "b": chance.choice(nouns),
        "k": chance.choice(loan_words),
        "v": chance.choice(verbs),
    }
    sentences = [chance.choice(_OPENINGS).format(**opening)]
    sentences += [
        template.format(
            a=chance.choice(nouns), b=chance.choice(nouns), k=chance.choice(loan_words), v=chance.choice(verbs)
        )
        for template in chance.sample(_MIDDLES, chance.randint(3, 6))
    ]
    return f"{chance.choice(nouns)}の手引き", "".join(sentences), opening


def _japanese_question(chance: random.Random, words: dict[str, str]) -> str:
    manner = chance.choice(
        (
            "{a} {b} {k} {v}",
            "{a}の{b}を{k}で{v}する方法",
            "{k}で{a}{b}を{v}したい",
            "{a}{b}の{v}は{k}でできますか？",
            "{k} {a}{b} {v}",
        )
    )
    return manner.format(**words)
