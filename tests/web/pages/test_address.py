from __future__ import annotations

import pickle
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import FetchRefused
from hikidashi.texts import in_language
from hikidashi.web.messages import reason
from hikidashi.web.pages.address import check_url, encoded_url, is_public, parse_url, readable_url

LOOPBACK_IN_DISGUISE = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://127.0.0.1./",
    "http://127。0。0。1/",
    "http://１２７.0.0.1/",
    "http://0/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://[fe80::1%25eth0]/",
    "http://[2606:4700::1111%eth0]/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    "http://local\u00adhost/",
    "http://api.localhost/",
]
INSIDE = [
    "http://10.0.0.1/",
    "http://172.16.9.9/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://metadata.goog/",
    "http://metadata/",
    "http://intranet/",
    "http://printer.local/",
    "http://router.home.arpa/",
    "http://kubernetes.default.svc/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://[ff0e::1]/",
    "http://[fec0::1]/",
    "http://[5f00::1]/",
    "http://[3fff::1]/",
    "http://192.88.99.1/",
    "http://198.18.0.1/",
]


@pytest.mark.parametrize("url", LOOPBACK_IN_DISGUISE + INSIDE)
def test_an_address_inside_the_network_is_refused_in_every_spelling(url: str) -> None:
    with pytest.raises(FetchRefused) as refused:
        check_url(url)
    assert refused.value.code == "private"


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("example.com", "scheme"),
        ("//example.com", "scheme"),
        ("ftp://example.com/", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("javascript:alert(1)", "scheme"),
        ("https:example.com", "scheme"),
        ("", "scheme"),
        ("two words", "scheme"),
        ("https://", "host"),
        ("https:///path", "host"),
        ("https://.example.com", "host"),
        ("https://a..b.com", "host"),
        ("https://-a.com", "host"),
        (f"https://{'a' * 64}.com", "host"),
        (f"https://{'.'.join(['a' * 60] * 5)}.com", "host"),
        ("https://%31%32%37.0.0.1/", "host"),
        ("https://example.256", "host"),
        ("http://1.2.3.4.5/", "host"),
        ("http://08.1/", "host"),
        ("http://1_0.0.0.1/", "host"),
        ("http://4294967296/", "host"),
        ("http://[::1/", "host"),
        ("http://[example.com]/", "host"),
        ("http://\u05d0a.com/", "host"),
        ("https://exa mple.com", "characters"),
        ("https://example.com/a b", "characters"),
        ("https://example.com/\r\nHost: evil", "characters"),
        ("https://example.com\x00.evil.com", "characters"),
        ("https://example.com/\ud800", "characters"),
        ("https://example.com\\@127.0.0.1/", "characters"),
        ("https://user:sk-test@example.com/", "credentials"),
        ("https://example.com:8080/", "port"),
        ("https://example.com:22/", "port"),
        ("https://example.com:0/", "port"),
        ("https://example.com:99999/", "port"),
        ("https://example.com:https/", "port"),
        ("https://example.com/" + "a" * 9000, "too_long"),
    ],
)
def test_an_address_that_cannot_be_used_says_why(url: str, code: str) -> None:
    with pytest.raises(FetchRefused) as refused:
        check_url(url)
    assert refused.value.code == code
    assert refused.value.reason in str(refused.value)


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://example.com", "https://example.com"),
        ("HTTPS://Example.COM:443/Path?Q=1#part", "https://example.com/Path?Q=1#part"),
        ("http://example.com:443/", "http://example.com:443/"),
        ("http://example.com./a", "http://example.com/a"),
        ("http://example.com:/a", "http://example.com/a"),
        ("  https://example.com/a\n", "https://example.com/a"),
        ("https://日本語.jp/東京?q=駅", "https://xn--wgv71a119e.jp/%E6%9D%B1%E4%BA%AC?q=%E9%A7%85"),
        ("https://ｅｘａｍｐｌｅ．ｃｏｍ/", "https://example.com/"),
        ("https://a.example/%E6%9D%B1?x=%zz", "https://a.example/%E6%9D%B1?x=%zz"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("http://0x08080808/", "http://8.8.8.8/"),
        ("http://[2606:4700:0::1111]/", "http://[2606:4700::1111]/"),
        ("https://my_host.example.com/a?b=\\d", "https://my_host.example.com/a?b=%5Cd"),
        ("https://host1.web2", "https://host1.web2"),
    ],
)
def test_a_public_address_is_given_as_a_client_sends_it(url: str, sent: str) -> None:
    assert check_url(url) == sent


def test_a_password_in_an_address_does_not_reach_the_error() -> None:
    with pytest.raises(FetchRefused) as refused:
        check_url("https://user:sk-test@example.com/a")
    assert "sk-test" not in repr(refused.value)
    assert refused.value.url == "https://***@example.com/a"


def test_a_host_the_caller_names_may_be_private_on_the_web_ports() -> None:
    assert check_url("http://10.0.0.7/a", allowed_hosts={"10.0.0.7"}) == "http://10.0.0.7/a"
    assert check_url("http://wiki.lan/a", allowed_hosts={"Wiki.LAN"}) == "http://wiki.lan/a"
    with pytest.raises(FetchRefused) as refused:
        check_url("http://10.0.0.7:8080/", allowed_hosts={"10.0.0.7"})
    assert refused.value.code == "port"


def test_a_host_named_with_a_port_is_allowed_there_and_nowhere_else() -> None:
    allowed = frozenset({"127.0.0.1:8080", "[::1]:8080"})
    assert check_url("http://127.0.0.1:8080/", allowed_hosts=allowed) == "http://127.0.0.1:8080/"
    assert check_url("http://[::1]:8080/", allowed_hosts=allowed) == "http://[::1]:8080/"
    for url in ["http://127.0.0.1/", "http://127.0.0.1:8081/", "http://127.0.0.2:8080/", "http://localhost:8080/"]:
        with pytest.raises(FetchRefused):
            check_url(url, allowed_hosts=allowed)


@pytest.mark.parametrize(
    ("url", "origin", "authority"),
    [
        ("http://[::1]:8080/", "[::1]:8080", "[::1]:8080"),
        ("https://[2606:4700::1]/", "[2606:4700::1]:443", "[2606:4700::1]"),
        ("http://example.com", "example.com:80", "example.com"),
        ("http://example.com:443", "example.com:443", "example.com:443"),
    ],
)
def test_an_address_knows_how_a_host_header_spells_it(url: str, origin: str, authority: str) -> None:
    address = parse_url(url, allowed_hosts={"[::1]:8080"})
    assert (address.origin, address.authority) == (origin, authority)


@given(st.ip_addresses(v=4).map(lambda ip: IPv4Address(int(ip))))
def test_every_spelling_of_an_ipv4_address_is_judged_alike(ip: IPv4Address) -> None:
    number = int(ip)
    a, rest = number >> 24, number & 0xFFFFFF
    spellings = [str(ip), str(number), hex(number), f"0{number:o}", f"{a}.{rest}", f"{a:#x}.{rest:#x}", f"{ip}."]
    for spelling in spellings:
        if is_public(ip):
            assert parse_url(f"http://{spelling}/").host == str(ip)
        else:
            with pytest.raises(FetchRefused):
                check_url(f"http://{spelling}/")


@given(st.ip_addresses(v=4).map(int))
def test_an_ipv4_address_inside_an_ipv6_address_is_public_only_if_it_is(number: int) -> None:
    public = is_public(IPv4Address(number))
    assert is_public(IPv6Address((0xFFFF << 32) + number)) == public
    assert is_public(IPv6Address(int(IPv6Address("64:ff9b::")) + number)) == public
    assert not is_public(IPv6Address(number))
    assert not is_public(IPv6Address(int(IPv6Address("2002::")) + (number << 80)))


@given(st.ip_addresses())
def test_nothing_that_python_calls_private_is_public(ip: IPv4Address | IPv6Address) -> None:
    carries_ipv4 = isinstance(ip, IPv6Address) and int(ip) >> 32 in {0xFFFF, int(IPv6Address("64:ff9b::")) >> 32}
    if ip.is_private or ip.is_multicast or ip.is_reserved or ip.is_loopback or ip.is_link_local:
        assert carries_ipv4 or not is_public(ip)


@pytest.mark.parametrize("ip", ["1.1.1.1", "2606:4700::1111", "64:ff9b::8.8.8.8", "100.128.0.1", "172.32.0.1"])
def test_ordinary_servers_are_public(ip: str) -> None:
    assert is_public(ip)
    assert is_public(ip_address(ip))


@given(st.text(max_size=60) | st.from_regex(r"https?://[^\s]{0,40}", fullmatch=True))
def test_any_text_is_a_stable_address_or_refused(text: str) -> None:
    try:
        sent = check_url(text)
    except FetchRefused:
        return
    assert sent.isascii()
    assert check_url(sent) == sent


def test_a_refusal_survives_pickle() -> None:
    with pytest.raises(FetchRefused) as refused:
        check_url("http://127.0.0.1/")
    copy = pickle.loads(pickle.dumps(refused.value))
    assert (copy.url, copy.reason, copy.code) == ("http://127.0.0.1/", refused.value.reason, "private")


def test_reasons_are_told_in_japanese_and_english() -> None:
    english = reason("status", status=404)
    assert english == "the server answered 404"
    assert in_language(english, "en") == english
    assert in_language(english, "ja") == "サーバーの応答は 404 でした"
    assert in_language("a server's own words", "ja") == "a server's own words"


def test_an_address_that_somebody_else_fetches_may_have_any_port_but_no_private_host() -> None:
    assert check_url("https://example.com:8443/a", any_port=True) == "https://example.com:8443/a"
    for url, code in [("http://127.0.0.1:8080/", "private"), ("https://example.com:0/", "port")]:
        with pytest.raises(FetchRefused) as refused:
            check_url(url, any_port=True)
        assert refused.value.code == code


@pytest.mark.parametrize(
    ("url", "readable"),
    [
        ("file:///d/%E7%A5%9D%E6%97%A5%20a.md", "file:///d/祝日%20a.md"),
        ("https://a.jp/%E3%83%BC%2F%E3%80%80?q=%e2%80%ae%C3%A9", "https://a.jp/ー%2F%E3%80%80?q=%E2%80%AEé"),
        ("https://a.jp/%82%a0", "https://a.jp/%82%a0"),
    ],
)
def test_letters_of_other_scripts_become_readable_and_nothing_else(url: str, readable: str) -> None:
    assert readable_url(url) == readable


@given(st.text())
def test_a_readable_file_address_leads_back_to_the_file(name: str) -> None:
    url = "file:///" + quote(name.encode("utf-8", "replace").decode())
    assert encoded_url(readable_url(url)) == url
