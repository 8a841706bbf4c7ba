"""The fixtures that come with the installed package."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest
from anthropic import Anthropic

pytest_plugins = ["pytester"]


def test_servers_of_a_test_are_closed_when_it_ends(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import http.client
        from urllib.parse import urlsplit

        import pytest

        urls = []

        def root_status(url):
            connection = http.client.HTTPConnection(urlsplit(url).netloc)
            try:
                connection.request("GET", "/")
                return connection.getresponse().status
            finally:
                connection.close()

        def test_two_servers_run(messages_server):
            urls.extend(messages_server(["hello"]).url for _ in range(2))
            assert [root_status(url) for url in urls] == [200, 200]

        def test_both_are_gone():
            for url in urls:
                with pytest.raises(ConnectionRefusedError):
                    root_status(url)

        def test_the_cli_has_a_home_of_its_own(messages_server, claude_code_env, tmp_path):
            server = messages_server([])
            env = claude_code_env(server)
            assert env["HOME"].startswith(str(tmp_path))
            assert env["ANTHROPIC_BASE_URL"] == server.url

        def test_tavily_and_slack_run(tavily_server, slack_server):
            urls[:] = [tavily_server([]).url, slack_server(bot_token="xoxb-other").url]
            assert all(root_status(url) for url in urls)

        def test_they_are_gone_too():
            for url in urls:
                with pytest.raises(ConnectionRefusedError):
                    root_status(url)
        """
    )
    pytester.runpytest().assert_outcomes(passed=5)


def test_what_a_script_raises_fails_the_test_that_gave_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import http.client
        from urllib.parse import urlsplit

        def script(request):
            raise AssertionError("unexpected: " + request.text)

        def test_asks(messages_server):
            connection = http.client.HTTPConnection(urlsplit(messages_server(script).url).netloc)
            body = '{"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "psst"}]}'
            connection.request("POST", "/v1/messages", body, {"x-api-key": "sk-test"})
            connection.getresponse().read()
            connection.close()
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*AssertionError: unexpected: psst"])


def test_pytest_starts_without_loading_the_servers() -> None:
    code = """
import sys
import hikidashi.testing.pytest_plugin
print(sorted(name for name in sys.modules if name.startswith("hikidashi")))
"""
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    names = ["hikidashi", "hikidashi.common", "hikidashi.common.lazy"]
    assert loaded == f"{[*names, 'hikidashi.testing', 'hikidashi.testing.pytest_plugin']}\n"


def test_the_example_in_the_docstring_runs() -> None:
    import hikidashi.testing

    lines = str(hikidashi.testing.__doc__).splitlines(keepends=True)
    names: dict[str, object] = {name: getattr(hikidashi.testing, name) for name in dir(hikidashi.testing)}
    names["Anthropic"] = Anthropic
    exec(dedent("".join(line for line in lines if line.startswith("    "))), names)
    assert isinstance(names["server"], hikidashi.testing.MessagesServer)


def test_every_public_name_is_there() -> None:
    import hikidashi.testing

    assert all(hasattr(hikidashi.testing, name) for name in dir(hikidashi.testing))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(hikidashi.testing, "nothing")  # noqa: B009 - an attribute that type checkers do not know
