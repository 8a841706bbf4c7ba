"""The HTTP server below: many clients, clients that hang, and a close that waits for nobody."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import struct
import threading
from urllib.parse import urlsplit

import pytest
from anthropic import AsyncAnthropic

from hikidashi.testing import MessagesServer, RecordedRequest, fault
from hikidashi.testing.server import Exchange, LoopbackServer

BODY = json.dumps({"model": "claude-test", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]})
HEADERS = {"x-api-key": "sk-test", "content-type": "application/json"}


def connected(server: LoopbackServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)


async def test_128_clients_are_served_at_the_same_time() -> None:
    everyone_is_here = threading.Barrier(128)

    def answer(request: RecordedRequest) -> str:
        everyone_is_here.wait(timeout=30)
        return request.text

    async with MessagesServer(answer) as server, AsyncAnthropic(base_url=server.url, api_key="sk-test") as client:

        async def ask(question: str) -> str:
            message = await client.messages.create(
                model="claude-test", max_tokens=9, messages=[{"role": "user", "content": question}]
            )
            return str(message.content[0].to_dict()["text"])

        questions = [str(number) for number in range(128)]
        assert await asyncio.gather(*map(ask, questions)) == questions
    assert sorted(request.text for request in server.requests) == sorted(questions)


def test_one_connection_serves_many_requests() -> None:
    with MessagesServer(lambda _: "fine") as server:
        connection = connected(server)
        connection.connect()
        opened = connection.sock
        for _ in range(3):
            connection.request("POST", "/v1/messages", BODY, HEADERS)
            assert connection.getresponse().read()
        assert connection.sock is opened
        connection.close()


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_root_answers(method: str) -> None:
    with MessagesServer() as server:
        connection = connected(server)
        connection.request(method, "/")
        assert connection.getresponse().status == 200
        connection.close()


def test_a_chunked_request_is_read_whole() -> None:
    with MessagesServer(["fine"]) as server:
        connection = connected(server)
        pieces = [BODY[:10].encode(), BODY[10:].encode()]
        connection.request("POST", "/v1/messages", iter(pieces), HEADERS, encode_chunked=True)
        assert connection.getresponse().status == 200
        connection.close()
    assert server.requests[0].body == json.loads(BODY)


def test_a_close_ends_requests_that_hang() -> None:
    taken = threading.Event()

    def hang(_: RecordedRequest) -> fault.Fault:
        taken.set()
        return fault.hang()

    with MessagesServer(hang) as server:
        connection = connected(server)
        connection.request("POST", "/v1/messages", BODY, HEADERS)
        assert taken.wait(timeout=30)
    with pytest.raises(http.client.RemoteDisconnected):
        connection.getresponse()
    connection.close()
    assert not any("_serve" in thread.name for thread in threading.enumerate())


@pytest.mark.parametrize("head", ["content-length: 100\r\n\r\n{", "transfer-encoding: chunked\r\n\r\n1\r\n{\r\n"])
def test_a_client_that_leaves_in_the_middle_disturbs_nobody(head: str) -> None:
    with MessagesServer(["fine"]) as server:
        address = urlsplit(server.url)
        with socket.create_connection((address.hostname, address.port)) as leaving:
            leaving.sendall(f"POST /v1/messages HTTP/1.1\r\n{head}".encode())
        connection = connected(server)
        connection.request("POST", "/v1/messages", BODY, HEADERS)
        assert connection.getresponse().status == 200
        connection.close()
    assert (len(server.requests), server.failures) == (1, [])


def test_a_client_that_resets_its_connection_disturbs_nobody() -> None:
    with MessagesServer(["fine"]) as server:
        address = urlsplit(server.url)
        with socket.create_connection((address.hostname, address.port)) as resetting:
            resetting.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection = connected(server)
        connection.request("POST", "/v1/messages", BODY, HEADERS)
        assert connection.getresponse().status == 200
        connection.close()
    assert server.failures == []


def test_an_error_of_the_server_itself_is_raised_when_the_block_ends() -> None:
    class Broken(LoopbackServer):
        def handle(self, exchange: Exchange) -> None:
            raise LookupError(exchange.path)

    def ask_once() -> None:
        with Broken() as server:
            connection = connected(server)
            connection.request("GET", "/here")
            with pytest.raises(http.client.RemoteDisconnected):
                connection.getresponse()
            connection.close()

    with pytest.raises(LookupError, match="/here"):
        ask_once()


def test_nobody_answers_after_the_close() -> None:
    with MessagesServer() as server:
        connection = connected(server)
    with pytest.raises(ConnectionRefusedError):
        connection.request("GET", "/")
    server.close()
    with pytest.raises(RuntimeError, match=r"MessagesServer is not running. Use it in a `with` block"):
        _ = server.url


def test_starting_twice_is_starting_once() -> None:
    with MessagesServer() as server:
        assert server.url == server.start().url


def test_nothing_is_written_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    with MessagesServer(["fine"]) as server:
        connection = connected(server)
        connection.request("GET", "/nowhere")
        connection.getresponse().read()
        connection.close()
    assert capfd.readouterr() == ("", "")
