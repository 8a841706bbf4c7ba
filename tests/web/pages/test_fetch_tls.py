from __future__ import annotations

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hikidashi.errors import ErrorType, PageError
from hikidashi.web.pages.fetch import Fetcher


def certificate_for(name: str, folder: Path) -> Path:
    """A file with a certificate for `name` that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    today = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - dt.timedelta(days=1))
        .not_valid_after(today + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    path.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path


@asynccontextmanager
async def serving(certificate: Path) -> AsyncGenerator[tuple[int, list[str | None]], None]:
    """The port of an HTTPS server, and the names its clients asked for."""
    names: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.sni_callback = lambda connection, name, context: names.append(name)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1], names


async def loopback(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


async def test_tls_asks_for_the_name_and_checks_it_though_the_connection_goes_to_an_address(tmp_path: Path) -> None:
    certificate = certificate_for("pages.example", tmp_path)
    trusting = ssl.create_default_context(cafile=certificate)
    async with serving(certificate) as (port, names):
        hosts = {f"pages.example:{port}", f"other.example:{port}"}
        fetcher = Fetcher(allowed_hosts=hosts, resolver=loopback, ssl_context=trusting)
        fetched = await fetcher.fetch(f"https://pages.example:{port}/")
        assert (fetched.body, fetched.content_type, names) == (b"hello", "", ["pages.example"])
        with pytest.raises(PageError, match="certificate was not accepted"):
            await fetcher.fetch(f"https://other.example:{port}/")


async def test_a_certificate_nobody_signed_is_not_accepted(tmp_path: Path) -> None:
    async with serving(certificate_for("pages.example", tmp_path)) as (port, _):
        fetcher = Fetcher(allowed_hosts={f"pages.example:{port}"}, resolver=loopback)
        with pytest.raises(PageError, match="certificate was not accepted") as failed:
            await fetcher.fetch(f"https://pages.example:{port}/")
    assert failed.value.error_type is ErrorType.NETWORK_ERROR
