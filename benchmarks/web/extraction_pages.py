"""Pages with their true text: a dozen as the web has them, in English and Japanese, and those made to hurt a parser.

Each page is written as blocks, which are its gold text, inside the furniture of a site, which is not.
"""

# ruff: noqa: E501 - prose, and HTML that line breaks would change

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain

Block = str | tuple[str, ...] | tuple[tuple[str, ...], ...]
"""Text is a paragraph, `# text` a heading, text with a line break code; a tuple is a list, one of tuples a table."""


@dataclass(frozen=True, slots=True)
class GoldPage:
    """A page and the text a reader came for."""

    name: str
    html: str
    gold: str


def _block(block: Block) -> str:
    match block:
        case str() if block.startswith("# "):
            return f"<h2>{escape(block[2:])}</h2>"
        case str() if "\n" in block:
            return f'<div class="highlight"><pre><code>{escape(block)}</code></pre></div>'
        case str():
            return f"<p>{escape(block)}</p>"
        case _ if all(isinstance(item, str) for item in block):
            return "<ul>" + "".join(f"<li>{escape(str(item))}</li>" for item in block) + "</ul>"
        case _:
            rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in block)
            return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def _text(block: Block) -> str:
    if isinstance(block, str):
        return block.removeprefix("# ")
    return " ".join(chain.from_iterable((item,) if isinstance(item, str) else item for item in block))


def _page(name: str, title: str, furniture: Callable[[str, str], str], blocks: Sequence[Block]) -> GoldPage:
    html = furniture(title, "\n".join(map(_block, blocks)))
    return GoldPage(name, html, "\n".join((title, *map(_text, blocks))))


def _links(words: str) -> str:
    return "<ul>" + "".join(f'<li><a href="/{word}">{word}</a></li>' for word in words.split()) + "</ul>"


def _news(title: str, body: str) -> str:
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title} - The Daily Plane</title>
<style>body {{ margin: 0 }}</style><script>window.ads = [1, 2, 3];</script></head><body>
<header><div class="logo">The Daily Plane</div><nav>{_links("World Business Craft Opinion Subscribe Login")}</nav></header>
<div class="breadcrumb"><a href="/">Home</a> &gt; <a href="/craft">Craft</a></div>
<main><article><h1>{title}</h1><div class="share">Share on Facebook Tweet this Mail it</div>{body}</article></main>
<aside class="related"><h3>More from Craft</h3>{_links("Ten-saws-we-love Why-glue-fails The-last-cooper Vices-compared")}</aside>
<div class="newsletter">Sign up for our newsletter and never miss a shaving. <input type="email"><button>Sign up</button></div>
<footer>Copyright The Daily Plane. <a href="/terms">Terms</a> <a href="/privacy">Privacy</a> <a href="/jobs">Jobs</a></footer>
</body></html>"""


def _docs(title: str, body: str) -> str:
    return f"""<!doctype html><html><head><title>{title} — shelf 3.2 documentation</title></head><body>
<div class="related" role="navigation"><ul><li><a href="genindex">index</a></li><li><a href="next">next</a> |</li></ul></div>
<div class="document"><div class="documentwrapper"><div class="bodywrapper"><div class="body" role="main">
<section id="top"><h1>{title}<a class="headerlink" href="#top">¶</a></h1>{body}</section></div></div></div>
<div class="sphinxsidebar" role="navigation"><h3>Table of Contents</h3>{_links("Installation Quickstart Tutorial Reference Changelog")}
<h3>Quick search</h3><form><input name="q"><input type="submit" value="Go"></form></div></div>
<div class="footer" role="contentinfo">Created using Sphinx. Show source.</div></body></html>"""


def _blog(title: str, body: str) -> str:
    return f"""<html><head><title>{title}</title></head><body class="post-template">
<div id="cookie-banner" class="cookie-consent"><p>We use cookies to improve your experience. By continuing you accept our
cookie policy and the policies of our 412 partners.</p><button>Accept all</button><button>Settings</button></div>
<div id="wrap"><div id="sidebar"><h4>About me</h4><p>I write about wood.</p><h4>Archive</h4>{_links("January February March April")}
<h4>Tags</h4>{_links("wood tools drawers planes glue")}</div>
<div id="content"><div class="post"><h1 class="post-title">{title}</h1><div class="meta">Posted by anna, 5 min read</div>
<div class="post-content">{body}</div></div>
<div id="comments"><h3>3 comments</h3><div class="comment"><b>bob</b><p>Great post, thanks for sharing this with us!</p></div>
<div class="comment"><b>eve</b><p>First! Also visit my site for cheap watches.</p></div>
<div class="comment"><b>joe</b><p>I disagree with everything, but nicely put.</p></div>
<form><textarea>Leave a reply</textarea><button>Post comment</button></form></div></div></div>
<div id="footer">Powered by a blog engine. Theme by someone.</div></body></html>"""


def _japanese_site(title: str, body: str) -> str:
    return f"""<!doctype html><html lang="ja"><head><meta charset="utf-8"><title>{title}｜木工新聞</title></head><body>
<header><p class="site">木工新聞</p><nav>{_links("トップ 社会 経済 道具 暮らし 会員登録 ログイン")}</nav></header>
<div class="wrapper"><div class="main-column"><article><h1>{title}</h1>
<ul class="sns"><li>シェアする</li><li>ツイート</li><li>ブックマーク</li></ul>
<div class="article-body">{body}</div></article></div>
<div class="side-column"><section class="ranking"><h2>アクセスランキング</h2>
{_links("鋸の選び方十選 接着剤が剥がれる理由 万力を比べる 最後の桶職人")}</section>
<section class="ad"><p>広告：今なら送料無料、工具の専門店</p></section></div></div>
<footer><p>木工新聞社　無断転載を禁じます</p>{_links("会社概要 利用規約 個人情報保護方針 お問い合わせ")}</footer></body></html>"""


def _japanese_blog(title: str, body: str) -> str:
    return f"""<html lang="ja"><head><title>{title} - 木の日記</title></head><body>
<div class="cookie-notice">当サイトではクッキーを使用しています。続けるとクッキーの使用に同意したものとみなします。<button>同意する</button></div>
<div id="header"><a href="/">木の日記</a></div><div id="main"><div class="entry"><h1>{title}</h1><div class="date">カテゴリー：道具</div>
<div class="entry-content">{body}</div></div>
<div id="comments"><h3>コメント</h3><div class="comment"><p>名無しさん：とても参考になりました、ありがとうございます。</p></div>
<div class="comment"><p>通りすがり：私はそうは思いませんが。</p></div></div></div>
<div id="sidebar"><h3>プロフィール</h3><p>木工が好きです。</p><h3>最近の記事</h3>{_links("鉋の研ぎ方 砥石の話 蝶番の直し方")}</div>
<div id="footer">ページの先頭へ戻る</div></body></html>"""


PAGES: tuple[GoldPage, ...] = (
    _page(
        "article, English",
        "The drawer that remembered everything",
        _news,
        [
            "When the joiner Marta Veld died last spring, her workshop held eleven thousand tools and not one list of them. "
            "Her apprentices expected weeks of searching. They found everything in an afternoon.",
            "The secret was a cabinet of four hundred drawers that she had built over thirty years. Each drawer carried a "
            "small brass frame, and in each frame a card said, in her narrow hand, what the drawer was for.",
            "She never wrote the name of a tool on a card, says Tom Aker, who learned from her. She wrote the question that "
            "the tool answers. How do I mark a line that is parallel to an edge? How do I flatten a board wider than my plane?",
            "# A catalogue of questions",
            "Librarians who visited the workshop compared the cabinet with the card catalogues of the last century. Those "
            "were sorted by author and title, so that a reader had to know what he was looking for before he could find it.",
            "Veld's cabinet works the other way round. A visitor with a problem reads three or four cards and opens a "
            "drawer. In a test with forty students the right drawer was the first one opened in thirty-one cases.",
            "The museum of the town has bought the cabinet and will show it from May. The drawers may be opened.",
        ],
    ),
    _page(
        "article, Japanese",
        "四百の引き出しを残した職人",
        _japanese_site,
        [
            "昨年の春に亡くなった建具職人の工房には、一万一千もの道具が残されていた。目録は一枚もなかった。弟子たちは探し物に"
            "何週間もかかると覚悟したが、すべては半日で見つかった。",
            "秘密は、三十年かけて作られた四百段の引き出しにあった。どの引き出しにも小さな真鍮の枠があり、細い字で書かれた札が"
            "入っている。そこには道具の名前ではなく、その道具が答える問いが書かれていた。",
            "# 問いの目録",
            "「縁に平行な線を引くには、どうすればよいか」「鉋より幅の広い板を平らにするには」。困っている人は札を三枚か四枚読み、"
            "引き出しを一つ開ける。四十人の学生で試したところ、三十一人が最初に開けた引き出しで正しい道具を見つけた。",
            "図書館の司書たちは、この棚を前世紀のカード目録と比べる。著者と題名で並んだ目録では、探す前に探し物の名前を知って"
            "いなければならない。この棚は、その逆を行く。",
            "町の博物館が棚を買い取り、五月から展示する。来館者は引き出しを自由に開けてよい。",
        ],
    ),
    _page(
        "docs, English",
        "Opening a shelf",
        _docs,
        [
            "A shelf is a file that behaves like a dictionary. Open one with the function open_shelf, use it as you would use "
            "any mapping, and close it when you are done, or let a with statement close it for you.",
            'import shelf\n\nwith shelf.open_shelf("tools.db") as tools:\n    tools["saw"] = {"teeth": 12}\n    print(tools["saw"])',
            "# Modes",
            "The second argument says how the file is opened. The default creates the file if it does not exist.",
            ("r opens an existing shelf for reading only", "w opens an existing shelf for reading and writing"),
            "# Concurrency",
            "Several processes may read a shelf at the same time, but only one may write. A second writer waits for the first, "
            "up to the number of seconds given as timeout, and then raises ShelfLocked.",
            "Values are serialised when they are assigned. A change inside a list that came from a shelf is not noticed, so "
            "assign the list again, or open the shelf with writeback and pay for it with memory.",
        ],
    ),
    _page(
        "docs, Japanese",
        "棚を開く",
        _docs,
        [
            "棚は辞書のように振る舞うファイルです。関数 open_shelf で開き、普通の辞書と同じように使い、終わったら閉じます。with 文を"
            "使えば、閉じ忘れることはありません。",
            'import shelf\n\nwith shelf.open_shelf("道具.db") as tools:\n    tools["鋸"] = {"刃": 12}',
            "# 開き方",
            "二番目の引数で、ファイルの開き方を指定します。省略すると、ファイルがなければ新しく作られます。",
            ("r は既存の棚を読み取り専用で開きます", "w は既存の棚を読み書き用に開きます"),
            "# 同時に使う",
            "複数のプロセスが同時に読むことはできますが、書き込めるのは一つだけです。二番目に書き込もうとしたプロセスは、timeout で"
            "指定した秒数まで待ち、それでも空かなければ ShelfLocked を送出します。",
        ],
    ),
    _page(
        "blog, English",
        "I organised my plugins like a kitchen",
        _blog,
        [
            "For years my editor had two hundred plugins, and every morning it took eleven seconds to start. Last weekend I "
            "cleaned it the way my grandmother cleans her kitchen, and I want to tell you how that went.",
            "Her rule is simple. Whatever you have not touched for a year leaves the kitchen. Not the house, only the kitchen: "
            "there is a shelf in the cellar for waffle irons and hopeful presents.",
            "# The cellar shelf",
            "So I moved every plugin that I could not name from memory to a folder that nothing loads. A hundred and sixty "
            "of them went down the stairs. The editor now starts before I have put down my cup.",
            "The surprise came on Tuesday, when I needed one of them. Fetching it from the cellar took ten seconds, less than "
            "the time I used to wait every single day for the privilege of never having to fetch it.",
        ],
    ),
    _page(
        "blog, Japanese",
        "台所のように道具を片づける",
        _japanese_blog,
        [
            "何年もの間、私のエディタには二百の拡張機能が入っていて、起動に毎朝十一秒かかっていました。先週末、祖母が台所を片づける"
            "やり方で整理してみたので、その話を書きます。",
            "祖母の決まりは単純です。一年触らなかった物は、台所から出す。家からではなく、台所からだけです。地下室には、ワッフル焼き器"
            "のための棚があります。",
            "# 地下室の棚",
            "名前を思い出せない拡張機能は、すべて読み込まれないフォルダに移しました。百六十個が階段を下りていきました。今では、湯飲み"
            "を置く前にエディタが立ち上がります。",
            "火曜日に、その一つが必要になりました。取りに行くのに十秒かかりましたが、それは毎日待っていた時間よりも短かったのです。",
        ],
    ),
    _page(
        "listing, English",
        "All hand tools",
        _news,
        [
            tuple(
                f"{kind} {tool}, {detail}"
                for kind in ("Small", "Large")
                for tool, detail in (
                    ("dovetail saw", "fine teeth for joints"),
                    ("block plane", "low angle, for end grain"),
                    ("marking gauge", "brass wheel"),
                    ("mortise chisel", "thick blade that does not bend"),
                    ("bar clamp", "opens with one hand"),
                    ("spokeshave", "for curved edges"),
                )
            )
        ],
    ),
    _page(
        "listing, Japanese",
        "手道具の一覧",
        _japanese_site,
        [
            tuple(
                f"{size}の{tool}、{detail}"
                for size in ("小型", "大型")
                for tool, detail in (
                    ("胴付鋸", "細かい刃で継ぎ手に"),
                    ("鉋", "木口を削る低い角度"),
                    ("罫引", "真鍮の刃"),
                    ("追入鑿", "曲がらない厚い刃"),
                    ("端金", "片手で締められる"),
                    ("南京鉋", "曲がった縁に"),
                )
            )
        ],
    ),
    _page(
        "code, English",
        "A bounded queue in forty lines",
        _blog,
        [
            "A queue that never refuses an item grows until the machine does. This one makes the producer wait instead.",
            "class Bounded:\n    def __init__(self, size):\n        self.items = deque()\n        self.space = Semaphore(size)",
            "The semaphore counts free places. Whoever puts an item takes a place first, and waits if there is none.",
            "    async def put(self, item):\n        await self.space.acquire()\n        self.items.append(item)\n        self.ready.set()",
            "Taking an item gives its place back, in this order and no other: the item must be gone before the place is free.",
            "    async def get(self):\n        while not self.items:\n            await self.ready.wait()\n        return self.items.popleft()",
            "Cancellation is the part that most queues on the web get wrong. A producer that is cancelled while it waits must "
            "not have taken a place, and a consumer that is cancelled must not have taken an item with it.",
        ],
    ),
    _page(
        "table, English",
        "Wood and how it moves",
        _news,
        [
            "Boards swell and shrink across the grain as the air changes. The figures give the change in width of a board of "
            "one hundred millimetres between a dry winter and a wet summer, measured in our own shop.",
            (
                ("Wood", "Flat sawn", "Quarter sawn", "Weight"),
                ("Beech", "4.1 mm", "2.2 mm", "720 kg"),
                ("Oak", "3.6 mm", "1.8 mm", "700 kg"),
                ("Walnut", "2.9 mm", "2.0 mm", "640 kg"),
                ("Spruce", "2.5 mm", "1.2 mm", "450 kg"),
                ("Teak", "1.6 mm", "1.0 mm", "660 kg"),
            ),
            "Quarter sawn boards move about half as much, which is why drawer sides are cut that way.",
        ],
    ),
    _page(
        "table, Japanese",
        "木の動きを測る",
        _japanese_site,
        [
            "板は空気の湿り気によって、木目と直角の方向に伸び縮みします。次の表は、幅百ミリの板が乾いた冬と湿った夏の間にどれだけ"
            "変わるかを、私たちの工房で測ったものです。",
            (
                ("樹種", "板目", "柾目", "重さ"),
                ("ブナ", "四・一ミリ", "二・二ミリ", "七百二十キロ"),
                ("ナラ", "三・六ミリ", "一・八ミリ", "七百キロ"),
                ("クルミ", "二・九ミリ", "二・〇ミリ", "六百四十キロ"),
                ("スギ", "二・五ミリ", "一・二ミリ", "三百八十キロ"),
            ),
            "柾目の板はおよそ半分しか動きません。引き出しの側板を柾目で取るのは、そのためです。",
        ],
    ),
    _page(
        "short note, English",
        "Closed on Friday",
        _blog,
        [
            "The shop is closed on Friday because the floor gets new boards. Orders placed by Thursday noon still leave in time."
        ],
    ),
)

HOSTILE: dict[str, Callable[[int], str]] = {
    "paragraphs": lambda n: "<p>word word</p>" * n,
    "nested elements": lambda n: "<div>" * n + "deep text" + "</div>" * n,
    "attributes of one element": lambda n: "<p " + "".join(f"a{i}=1 " for i in range(5 * n)) + ">text",
    "bytes in one attribute": lambda n: '<p title="' + "x" * 10 * n + '">some text',
    "unclosed tags": lambda n: "<b><i><a href=x>" * n + "text",
    "entities": lambda n: "<p>" + "&amp;&lt;&nbsp;" * n,
    "nested tables": lambda n: "<table><tr><td>" * n + "x",
    "options": lambda n: "<select>" + "<option>word " * n,
    "elements to reopen": lambda n: "<p>" + "".join(f"<b a={i}>" for i in range(240)) + "<p>word" * n,
    "links": lambda n: "<p>" + "<a href=/x>word</a> " * n,
    "angle brackets": lambda n: "<" * n + " text",
}
"""Pages by what they have too much of, given how many."""
