"""The Japanese glossary: its file is well-formed, and everyday requests reach the English words of tools."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib.resources import files

import pytest

from hikidashi.search.engine.query import understand

ENGLISH = re.compile(r"[a-z0-9.+#-]+(?: [a-z0-9.+#-]+)*")
JAPANESE = re.compile("[\u3041-\u309f\u30a0-\u30ff\u4e00-\u9fff]")
ONE_KANA = re.compile("[\u3041-\u309f\u30a0-\u30ff]")


@cache
def lines() -> list[str]:
    source = files("hikidashi.search.engine").joinpath("glossaries", "ja.tsv").read_text(encoding="utf-8")
    return [line for line in source.split("\n") if line and not line.startswith("#")]


@cache
def glossary() -> dict[str, list[str]]:
    return {term: english.split("|") for term, english in (line.split("\t") for line in lines())}


def found_in(request: str) -> dict[str, tuple[str, ...]]:
    """The glossary terms of `request`, as a search finds them, and what they mean."""
    return dict(understand(request, lambda word: False).translations)


def english_of(request: str) -> set[str]:
    return {word for meanings in found_in(request).values() for meaning in meanings for word in meaning.split()}


def test_every_line_is_a_term_a_tab_and_english() -> None:
    assert [line for line in lines() if not re.fullmatch(r"[^\t]+\t[^\t]+", line)] == []


def test_there_are_thousands_of_terms() -> None:
    assert len(lines()) >= 3_000


def test_no_term_stands_twice() -> None:
    terms = [line.split("\t")[0] for line in lines()]
    assert sorted(terms) == sorted(set(terms))


def test_terms_are_normalised_japanese_without_spaces() -> None:
    def wrong(term: str) -> bool:
        even = unicodedata.normalize("NFKC", term).lower()
        return term != even or not JAPANESE.search(term) or any(letter.isspace() for letter in term)

    assert [term for term in glossary() if wrong(term)] == []


def test_no_term_is_one_kana() -> None:
    assert [term for term in glossary() if ONE_KANA.fullmatch(term)] == []


def test_english_is_lower_case_words_with_single_spaces() -> None:
    wrong = {term: english for term, english in glossary().items() if not all(map(ENGLISH.fullmatch, english))}
    assert wrong == {}


def test_a_term_has_one_to_four_different_alternatives() -> None:
    wrong = {
        term: english
        for term, english in glossary().items()
        if not 1 <= len(english) <= 4 or len(set(english)) < len(english)
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("請求書をメールで送って", "invoice email send"),
        ("未読のメールを要約してほしい", "unread email summarize"),
        ("田中さんからのメールに返信して", "email reply"),
        ("添付ファイルをダウンロードしたい", "attachment download"),
        ("来週の月曜日に会議を設定してください", "week monday schedule meeting"),
        ("明日の予定をキャンセルして参加者に知らせる", "tomorrow event cancel attendee notify"),
        ("空き時間を調べて打合せを入れて", "availability search meeting"),
        ("スラックのチャンネルにメッセージを投稿したい", "slack channel message post"),
        ("ファイルをフォルダーに移動させてから圧縮する", "file folder move compress"),
        ("スプレッドシートに行を追加", "spreadsheet row append"),
        ("議事録のドキュメントを共有", "minutes document share"),
        ("PDFから文字を抜き出して", "text extract"),
        ("チームのメンバーを招待して権限を付与", "team member invite permission grant"),
        ("パスワードを忘れたのでリセットしたい", "password reset"),
        ("顧客の連絡先を登録する", "customer contact register"),
        ("見込み客を商談に進めて", "lead deal"),
        ("注文の返金を処理して", "order refund process"),
        ("サブスクを解約したい", "subscription cancel"),
        ("消費税込みの金額を計算", "tax amount calculate"),
        ("ドル円の為替レートはいくら?", "exchange rate price"),
        ("トヨタの株価を見せて", "stock price show"),
        ("ビットコインの価格の推移", "bitcoin price history"),
        ("明日の東京の天気を教えて", "tomorrow tokyo weather get"),
        ("地震の最新情報", "earthquake latest information"),
        ("郵便番号から住所を検索", "postal code address search"),
        ("京都駅の近くで安いホテルを探しています", "station nearby cheap hotel search"),
        ("往復の航空券を予約したいのですが", "round trip flight reserve book"),
        ("次の電車の乗り換えを調べて", "next train transfer"),
        ("おいしいラーメン屋を見つけて", "restaurant find"),
        ("鶏肉を使ったレシピを提案して", "recipe suggest"),
        ("この文章を英語に翻訳して", "text english translate"),
        ("動画の字幕を書き起こして", "video subtitle transcribe"),
        ("猫の画像を生成して背景を透明に", "cat image generate background transparent"),
        ("カートに入れた商品を購入", "cart product purchase"),
        ("荷物の配送状況を追跡", "package track delivery status"),
        ("在庫が少ない商品の一覧", "inventory product list"),
        ("有給休暇を申請したい", "leave request"),
        ("求人に応募した候補者の履歴書", "job application candidate resume"),
        ("課題を起票して担当者を割り当てる", "issue create assignee assign"),
        ("期限切れのタスクを完了にする", "overdue task complete"),
        ("プルリクをレビューしてマージ", "pull request review merge"),
        ("ブランチを切ってコミットしてプッシュ", "branch create commit push"),
        ("本番環境にデプロイしてログを確認", "production deploy log check"),
        ("サーバのアラートを止める", "server alert stop"),
        ("テーブルから重複した行を削除", "table duplicate row delete"),
        ("コンテナを再起動して", "container restart"),
        ("ドメインの証明書を更新", "domain certificate renew update"),
        ("データセットを読み込んで線形回帰を実行", "dataset load linear regression run"),
        ("売上を集計して棒グラフを作って", "sales aggregate bar chart create"),
        ("アンケートの回答の平均を出して", "survey response average"),
        ("講座の成績を確認したい", "course grade check"),
        ("歩数と睡眠時間を記録", "steps sleep record"),
        ("この薬の副作用は?", "drug side effects"),
        ("サッカーの試合結果を知りたい", "soccer match score"),
        ("家賃10万円以下の物件を探して", "rent property search"),
        ("契約書に電子署名を依頼する", "contract signature request"),
        ("照明を消して暖房をつけて", "light turn off thermostat on"),
        ("電気自動車の充電スタンドを地図に表示", "electric vehicle charging station map show"),
        ("三角形の面積を求めて素数か判定", "triangle area prime check"),
        ("定積分を計算して", "integral calculate"),
        ("摂氏を華氏に変換", "celsius fahrenheit convert"),
        ("令和5年は西暦何年?", "era year"),
        ("法人番号で会社を検索", "corporate number company search"),
        ("県別の人口を比較", "prefecture population compare"),
        ("ハッシュタグで人気の投稿を探す", "hashtag popular post search"),
        ("誰がいつ編集したか", "who when edit"),
        ("今月は食費にいくら使った?", "food spending"),
        ("歯医者の30分前に知らせて", "dentist remind notify"),
        ("電気代とガス代の合計", "electricity gas expense total"),
        ("昼ごはん代を割り勘にして", "lunch food split"),
        ("会議を一時間ずらして", "meeting move reschedule"),
        ("無駄遣いを減らしたい", "spending budget"),
        ("薬代を忘れないように書いておいて", "medicine health remind"),
        ("てんきをしらべて", "weather search"),
        ("よていをついかして", "event add"),
        ("せいきゅうしょをさくせい", "invoice create"),
    ],
)
def test_an_everyday_request_reaches_the_words_of_tools(request_text: str, expected: str) -> None:
    assert set(expected.split()) - english_of(request_text) == set(), found_in(request_text)


@pytest.mark.parametrize(
    "forms",
    [
        "送る 送ります 送って 送りたい 送れば 送られた 送信 おくって",
        "調べる 調べて 調べたい 調べられる しらべて",
        "取り消す 取消す 取り消して 取消し とりけして キャンセル",
        "申し込む 申込む 申し込んで 申込み もうしこんで",
        "書き込む 書き込んで 書込み",
        "読み込む 読み込ませて 読込み よみこんで",
        "サーバー サーバ",
        "フォルダー フォルダ",
        "ユーザー ユーザ",
        "打ち合わせ 打合せ 打合わせ うちあわせ",
    ],
)
def test_all_spellings_and_inflections_share_a_meaning(forms: str) -> None:
    first, *others = forms.split()
    assert [form for form in others if not english_of(first) & english_of(form)] == []


@pytest.mark.parametrize(
    "phrase",
    [
        "かどうか",
        "しないように",
        "していただけますでしょうか",
        "よさそうな",
        "これだけして",
        "あるいは",
        "どういう",
        "のためにしながら",
        "もしあればそれで",
        "させていただきたく",
    ],
)
def test_grammar_alone_means_nothing(phrase: str) -> None:
    assert found_in(phrase) == {}


@pytest.mark.parametrize(
    ("loanword", "inside"),
    [
        ("オンライン", "line"),
        ("プレビュー", "review"),
        ("ワークショップ", "shop"),
        ("インスタグラム", "tag"),
        ("トラベル", "label"),
        ("リストア", "store"),
        ("パイプライン", "line"),
        ("テンプレート", "rate"),
        ("ブログ", "log"),
        ("フライト", "light"),
        ("パスポート", "port"),
        ("アイドル", "dollar"),
    ],
)
def test_a_loanword_is_not_the_shorter_one_inside_it(loanword: str, inside: str) -> None:
    assert loanword in found_in(loanword)
    assert inside not in english_of(loanword)
