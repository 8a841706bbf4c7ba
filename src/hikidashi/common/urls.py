"""Base URLs of HTTP servers, and hosts on this machine."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from urllib.parse import SplitResult, urlsplit


def is_loopback(host: str) -> bool:
    """Whether `host`, a name or an IP address, is reachable from this machine only.

    `localhost` and the names below it count: RFC 6761 reserves them for loopback addresses.
    """
    try:
        address = ip_address(host)
    except ValueError:
        return host.lower().rstrip(".").rpartition(".")[2] == "localhost"
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None  # Python 3.13 looks at it itself
    return (mapped or address).is_loopback


def is_loopback_url(url: str) -> bool:
    """Whether the host of `url` is reachable from this machine only; False if it has none."""
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


def split_base_url(url: str) -> SplitResult:
    """The parts of `url`, which has the scheme http or https, a host, and a valid port if any.

    Raises:
        ValueError: `url` is something else. The message does not repeat it, because it may hold a password.
    """
    if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError("is not text")
    if any(character.isspace() or not character.isprintable() for character in url):
        raise ValueError("has white space or control characters in it")  # urlsplit would drop some of them
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError("is not a URL") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("is not an http:// or https:// URL")
    if port == 0:
        raise ValueError("has port 0")
    return parts
