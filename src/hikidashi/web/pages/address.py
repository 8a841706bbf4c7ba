"""Which addresses may be fetched, against SSRF: web tools must not reach the network they run in.

`check_url` checks the text of an address without a lookup; `is_public` checks the IP address it resolves to. Both use
tables of their own, because `ipaddress.is_global` changes between Python versions: in 3.11 fec0::/10, 5f00::/16,
3fff::/20 and 192.88.99.0/24 are global.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import quote, urlsplit

from ...errors import FetchRefused, MissingExtra
from ..messages import reason

_MAX_LENGTH = 8192
_DEFAULT_PORTS = {"http": 80, "https": 443}
_PORTS = frozenset(_DEFAULT_PORTS.values())

_NOT_PUBLIC_V4 = [
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, and Alibaba's metadata service
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host agent: a public address reachable only from inside
        "169.254.0.0/16",  # link-local, and the metadata service of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
]
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NOT_PUBLIC_V6 = [
    IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarking
        "2001:db8::/32",
        "2002::/16",  # 6to4 carries any IPv4 address
        "3fff::/20",
    )
]
_NAT64 = IPv6Network("64:ff9b::/96")

_LOCAL_SUFFIXES = frozenset(
    {"localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan", "svc", "home.arpa"}
)
_METADATA_NAMES = frozenset({"metadata.goog", "metadata.tencentyun.com", "metadata.platformequinix.com"})

_URL = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<rest>.*)", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=://)[^/?#]*@")
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ud800-\udfff]")
_ENCODED_LETTERS = re.compile(r"(?:%[89a-f][0-9a-f])+", re.IGNORECASE)
_OTHER_LETTERS = re.compile(r"[^\x00-\x7f]+")
_PORT = re.compile(r"[0-9]{0,5}")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_DOTS = str.maketrans("。．｡", "...")


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of a checked address; `str()` joins them again."""

    scheme: str
    host: str
    """A lower-case ASCII name, or an IP address in canonical form; IPv6 without brackets."""
    port: int
    path: str
    """The path with query and fragment, percent-encoded; empty if the address ends after the host."""

    @property
    def origin(self) -> str:
        """Host and port as in `allowed_hosts`, such as `127.0.0.1:8080` or `[::1]:80`."""
        return f"{self._bracketed}:{self.port}"

    @property
    def authority(self) -> str:
        """Host and port as in a `Host` header, without the default port."""
        return self._bracketed if self.port == _DEFAULT_PORTS[self.scheme] else self.origin

    @property
    def canonical(self) -> str:
        """The canonical form: with a `/` if the address ends after the host."""
        slash = "" if self.path.startswith("/") else "/"
        return f"{self.scheme}://{self.authority}{slash}{self.path}"

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def check_url(url: str, *, allowed_hosts: Iterable[str] = frozenset(), any_port: bool = False) -> str:
    """`url` normalized: host in ASCII lower case, without the default port, path percent-encoded.

    No name is resolved. A host in `allowed_hosts` (`"10.0.0.7"`, `"wiki.lan"`) may be private; with a port
    (`"127.0.0.1:8080"`), that port is allowed too. `any_port` is for addresses that another service fetches.

    Raises:
        FetchRefused: `url` is not a web address, or must not be fetched; `code` says why.
    """
    return str(parse_url(url, allowed_hosts=allowed_hosts, any_port=any_port))


def parse_url(url: str, *, allowed_hosts: Iterable[str] = frozenset(), any_port: bool = False) -> Address:
    """The parts of `url`, checked as `check_url` does.

    Raises:
        FetchRefused: as `check_url`.
    """
    if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _refused(repr(url)[:200], "url_type")
    text = url.strip(" \t\r\n")
    if len(text) > _MAX_LENGTH:
        raise _refused(text[:200] + "…", "too_long", limit=_MAX_LENGTH)
    parts = _URL.fullmatch(text) if not _UNSAFE.search(text) else None
    if parts is None:
        raise _refused(text, "characters" if re.match("https?://", text, re.IGNORECASE) else "scheme")
    if "\\" in parts["authority"] + parts["path"]:
        raise _refused(text, "characters")  # browsers read a backslash as a slash, other clients do not
    if "@" in parts["authority"]:
        raise _refused(_CREDENTIALS.sub("***@", text), "credentials")
    scheme = parts["scheme"].lower()
    name, port = _host_and_port(text, parts["authority"], _DEFAULT_PORTS[scheme])
    host = _host(text, name)
    path = quote(parts["path"] + parts["rest"], safe="!#$%&'()*+,/:;=?@[]~")
    address = Address(scheme, host, port, path)
    allowed = frozenset(host.lower() for host in allowed_hosts)
    if port not in (range(1, 65_536) if any_port else _PORTS) and address.origin not in allowed:
        raise _refused(text, "port")
    if not is_allowed(address, allowed) and _is_local(host):
        raise _refused(text, "private")
    return address


def host_of(url: str) -> str:
    """The host of `url` in lower case; empty if it has none or is not a URL."""
    try:
        return (urlsplit(url).hostname or "").strip(".")
    except ValueError:
        return ""


def readable_url(url: str) -> str:
    """`url` with non-ASCII letters decoded: percent-encoded, one kanji costs a model nine tokens.

    Everything else stays percent-encoded, so it is still the same address.
    """
    return _ENCODED_LETTERS.sub(_letters, url)


def encoded_url(url: str) -> str:
    """`url` with non-ASCII letters percent-encoded: the inverse of `readable_url`."""
    return _OTHER_LETTERS.sub(lambda letters: quote(letters[0]), url)


def _letters(encoded: re.Match[str]) -> str:
    try:
        text = bytes.fromhex(encoded[0].replace("%", "")).decode("utf-8")
    except UnicodeDecodeError:
        return encoded[0]
    return "".join(letter if letter.isprintable() else quote(letter) for letter in text)


def is_allowed(address: Address, allowed_hosts: Iterable[str]) -> bool:
    """Whether `allowed_hosts` has this host, or this host and port."""
    return not {address.host, address.origin}.isdisjoint(allowed_hosts)


def is_public(ip: IPv4Address | IPv6Address | str) -> bool:
    """Whether `ip` is an address of the public internet."""
    address = ip_address(ip) if isinstance(ip, str) else ip
    if isinstance(address, IPv4Address):
        return not any(address in block for block in _NOT_PUBLIC_V4)
    if address.scope_id is not None:
        return False
    if address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    if address in _NAT64:  # NAT64 maps every IPv4 address
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    return address in _GLOBAL_UNICAST and not any(address in block for block in _NOT_PUBLIC_V6)


def _host_and_port(url: str, authority: str, default: int) -> tuple[str, int]:
    name, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        return authority, default
    if not _PORT.fullmatch(port):
        raise _refused(url, "port")
    return name, int(port) if port else default


def _host(url: str, name: str) -> str:
    if name.startswith("[") and name.endswith("]"):
        return _ipv6(url, name[1:-1])
    host = _ascii(url, name.translate(_DOTS)).lower().removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _refused(url, "host")
    return _ipv4(url, labels) if _NUMBER.fullmatch(labels[-1]) else host


def _ascii(url: str, name: str) -> str:
    # NFKC turns full-width digits and letters into ASCII, as in 「１２７.0.0.1」.
    folded = unicodedata.normalize("NFKC", name).translate(_DOTS)
    if folded.isascii():
        return folded
    try:
        import idna
    except ImportError as error:
        raise MissingExtra("idna", "web") from error
    try:
        return idna.encode(folded, uts46=True).decode("ascii")
    except idna.IDNAError:
        raise _refused(url, "host") from None


def _ipv4(url: str, labels: list[str]) -> str:
    """The canonical form of an IPv4 address in any form that `inet_aton` accepts: 2130706433, 0x7f.1, 0177.0.0.1."""
    try:
        *heads, tail = [_number(label) for label in labels]
    except ValueError:
        raise _refused(url, "host") from None
    if len(heads) > 3 or any(head > 255 for head in heads) or tail >= 256 ** (4 - len(heads)):
        raise _refused(url, "host")
    value = sum(head << (24 - 8 * place) for place, head in enumerate(heads)) + tail
    return str(IPv4Address(value))


def _number(label: str) -> int:
    if not _NUMBER.fullmatch(label):
        raise ValueError(label)
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8 if label.startswith("0") and label != "0" else 10)


def _ipv6(url: str, text: str) -> str:
    try:
        return str(IPv6Address(text.lower()))
    except ValueError:
        raise _refused(url, "host") from None


def _is_local(host: str) -> bool:
    if ":" in host or host[-1].isdigit():
        try:
            return not is_public(host)
        except ValueError:
            pass  # a name that ends in a digit
    labels = host.split(".")
    return (
        len(labels) == 1
        or host in _METADATA_NAMES
        or not _LOCAL_SUFFIXES.isdisjoint({labels[-1], ".".join(labels[-2:])})
    )


def _refused(url: str, code: str, **values: object) -> FetchRefused:
    return FetchRefused(url, reason(code, **values), code)
