"""Stop words, and words of little weight.

`FUNCTION` words are stop words: neither indexed nor searched. `REQUEST` words are polite phrases ("I would like you to
help me find …"): they are indexed, and a query drops them if it has other words. `WEAK` words are common in any text
and any description: they help to rank, but are no evidence that a tool is about the question. `EVERYDAY` words are the
weak words of everyday language: neither verbs of tools nor times and numbers.
"""

from __future__ import annotations

__all__ = ["EVERYDAY", "FUNCTION", "FUNCTION_BIGRAMS", "REQUEST", "WEAK"]

_FUNCTION = """
    aren couldn didn doesn hadn hasn haven isn shouldn wasn weren wouldn
    a about after again all also although am an and any are as at be because been before being both but by
    can cannot could d did do does doing don done during each eg either else etc ever every for from further
    had has have having he her here hers herself him himself his how however i ie if in into is it its itself just
    ll m may me might mine more most must my myself neither no nor not of on once only onto or other our ours
    ourselves own per rather re s same shall she should so some such t than that the their theirs them themselves
    then there these they this those through thus to too under until up upon us ve very via was we were what when
    where whether which while who whom whose why will with within without would you your yours yourself yourselves
    actually apparently basically certainly definitely eventually finally honestly hopefully literally luckily obviously
    probably seriously suddenly surely unfortunately
"""

_REQUEST = """
    able additionally assist curious excited furthermore give going good great hello help helpful hey hi interested know
    lastly let like looking lot love make many moreover much need ok okay please provide really see something stuff sure
    take tell thank thanks thing things think tried try trying use using want wanted wants well wish wonder wondering
"""

# Generic verbs and nouns of tools.
_GENERIC = """
    add build call change check contain create current data delete detail display do edit example execute fetch
    find generate get handle help include information item list look manage modify need obtain offer perform
    provide put remove request result retrieve return run save search set show start stop support update use user
    value view
"""

# Times and numbers, which are common in everyday language and as values.
_TIMES = """
    day days night nights morning evening afternoon noon midnight week weeks month months year years hour hours
    minute minutes moment today tomorrow yesterday tonight now soon late later early always never often sometimes
    ago forever age time times monday tuesday wednesday thursday friday saturday sunday january february march
    april june july august september october november december
    zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand
    million dozen first second third last next twice half several few pair
"""

# Everyday language. Subjects of tools are left out, however common: animals, food, weather, music, money, travel.
_EVERYDAY = """
    red green blue white black gray yellow brown pink purple
    man men woman women boy boys girl girls child children kid kids baby babies person people mother father mom dad
    mum parent son daughter brother sister wife husband aunt uncle cousin grandmother grandfather grandma grandpa
    friend neighbor lady guy folk everyone everybody someone somebody anyone anybody nobody stranger king queen
    prince princess
    head hair face eye eyes ear ears nose mouth lip lips tooth teeth neck shoulder arm arms hand hands finger
    fingers leg legs knee knees foot feet toe back
    old young new bad big small little large long short tall high low deep wide narrow thick thin heavy dark bright
    warm cold hot cool wet dry hard soft loud quiet silent slow fast quick full empty rich poor happy sad tired
    angry alone lonely afraid lucky lovely beautiful pretty ugly nice fine strange real true false wrong right left
    same different best better worst worse whole main sweet strong weak dirty sharp straight flat busy ready sorry
    glad proud brave gentle clever stupid wise mad crazy broken perfect simple easy difficult possible impossible
    important usual
    out over off down away across around above below behind beside between among against along toward towards near
    far forward together inside outside everywhere somewhere anywhere nowhere instead almost already yet still even
    quite enough perhaps maybe indeed anyway nothing anything everything else ever
    say says said speak spoke spoken talk talks talked tell told go goes went gone come comes came stay stays
    stayed leave leaves ran sat stood lie lies lay wake woke dream dreams live lives lived die died born grow grew
    grown fall falls fell fallen rise rose keep keeps kept hold held bring brought carry throw threw thrown catch
    caught hit cut break broke burn smell taste feel feels felt hear heard saw seen smile laugh cry cried wear wore
    believe believed hope forget forgot remember hate care seem seems become became happen happens begin began
    begun end finish wait used knew known thought understand gave given took taken got made jump climb knock kiss
    hug shout whisper promise pretend choose chose deserve belong blame fight fought
    life world way ways place places side part kind sort bit truth joy pain fear silence luck fun dust
    grandparent grandparents grandson granddaughter hill tree trees leaf flower grass stone rock sand mud sky shadow
    door window wall floor roof ceiling chair bed sofa box bag cup bottle plate spoon knife pocket shoe shoes sock
    socks hat coat shirt corner bench gate fence drawer mirror candle blanket pillow basket rope ladder stairs
    see make like give take good great love know think want try thing things something stuff lot many much well
    since though whatever whoever wherever piece pieces reason top turn word words
"""

# The same in Japanese: words, and characters that are words or stems of words.
_EVERYDAY_JAPANESE = """
    一つ 一人 二人 一番 一緒 今日 明日 昨日 今朝 今夜 今年 去年 来年 毎日 時代 最近 最初 最後 世界 世の中 人生 人間
    人々 大人 子供 子ども 男性 女性 家族 両親 友達 友人 自分 自身 自由 彼女 名前 気持 気持ち 本当 普通 大事 大切
    必要 無理 言葉 意味 理由 思い出 仕事
    誰か 何か 私の いつ どこ だれ なに 新しい 新し 古い 古く 長い 長く 短い 短く 大きい 大きく 小さい 小さく 高い
    高く 低い 低く 早く 遅く 強く 弱く 良い 悪い 好き 嫌い 見て 見た 見る 行く 行っ 来る 来た 帰り 帰る 出て 出る
    出し 出かけ 入っ 持っ 待っ 思っ 思い 言っ 言う 忘れ 動く 開い
    人の 人は 本の 前の 後の
    調べ 探し 教え 設定 変更 追加 削除 確認 表示 取得 検索 一覧 作成 更新 調 探 教
    一 二 三 四 五 六 七 八 九 十 百 千 万 何 誰 人 男 女 子 父 母 兄 弟 姉 妹 君 僕 私 彼 日 年 月 週 時 分 今 朝
    昼 夜 晩 昔
    上 下 中 前 後 左 右 内 外 間 横 隣 先 奥 側 大 小 長 短 高 低 新 古 多 少 早 遅 強 弱 良 悪 明 暗 暑 寒 熱 冷
    白 黒 赤 青
    手 足 目 耳 口 頭 顔 体 心 気 声 力 出 入 行 来 帰 言 話 見 聞 思 知 立 座 歩 走 寝 起 生 死 持 取 使 作 笑 泣
    怒 好 嫌 待 忘
    家 物 事 所 方 道 山 木 草 石 土 夢 色 音 味 形 嘘 運 噂 涙 恋 愛 幸 春 夏 秋 冬
"""

_JAPANESE = """
    している してある してほしい しておく してくれる してください しました しません しましょう します したい した
    する される させる ください くれる くださいませ です でした でしょうか ます ました ません から まで など について
    における に対する ための ために ため こと もの これ それ あれ この その あの どの どこ ここ そこ という といった
    として とか ので のに には では とは への での からの までの なら ながら られる れる ない なし あり ある いる
    たい たら って また または および ほしい たく
"""

EVERYDAY = frozenset(_EVERYDAY.split() + _EVERYDAY_JAPANESE.split())
FUNCTION = frozenset(_FUNCTION.split())
REQUEST = frozenset(_REQUEST.split())
WEAK = EVERYDAY | frozenset(_GENERIC.split() + _TIMES.split())
# Japanese inflection and particles, as bigrams.
FUNCTION_BIGRAMS = frozenset(word[at : at + 2] for word in _JAPANESE.split() for at in range(len(word) - 1))
