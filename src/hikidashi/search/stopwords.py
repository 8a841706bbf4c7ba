"""Words that say nothing about a tool.

`FUNCTION` words are neither indexed nor searched. `REQUEST` words are how people ask ("I would like you to
help me find …"): they are indexed, and a query drops them as long as it has another word. `GENERIC` words are
what any tool might be called: they help to rank, but alone make no hit.
"""

from __future__ import annotations

__all__ = ["FUNCTION", "FUNCTION_BIGRAMS", "GENERIC", "REQUEST"]

_FUNCTION = """
    a about after again all also although am an and any are as at be because been before being both but by
    can cannot could d did do does doing don done during each eg either else etc ever every for from further
    had has have having he her here hers herself him himself his how however i ie if in into is it its itself just
    ll m may me might mine more most must my myself neither no nor not of on once only onto or other our ours
    ourselves own per rather re s same shall she should so some such t than that the their theirs them themselves
    then there these they this those through thus to too under until up upon us ve very via was we were what when
    where whether which while who whom whose why will with within without would you your yours yourself yourselves
"""

_REQUEST = """
    able additionally assist curious excited furthermore give going good great hello help helpful hey hi interested know
    lastly let like looking lot love make many moreover much need ok okay please provide really see something stuff sure
    take tell thank thanks thing things think tried try trying use using want wanted wants well wish wonder wondering
"""

_GENERIC = """
    call do execute fetch get handle list obtain perform put request retrieve return run set show start
"""

_JAPANESE = """
    している してある してほしい しておく してくれる してください しました しません しましょう します したい した
    する される させる ください くれる くださいませ です でした でしょうか ます ました ません から まで など について
    における に対する ための ために ため こと もの これ それ あれ この その あの どの どこ ここ そこ という といった
    として とか ので のに には では とは への での からの までの なら ながら られる れる ない なし あり ある いる
    たい たら って また または および ほしい たく
"""

FUNCTION = frozenset(_FUNCTION.split())
REQUEST = frozenset(_REQUEST.split())
GENERIC = frozenset(_GENERIC.split())
# Japanese inflection and particles, as the pairs of letters an index would hold.
FUNCTION_BIGRAMS = frozenset(word[at : at + 2] for word in _JAPANESE.split() for at in range(len(word) - 1))
