"""The manual check of spec 001, done by a machine.

1. Start the application.
2. Ask the bot in Slack to search.
3. See that it used `web_search`, and that the reply stands in the thread.
4. See the INFO lines in the log.

Everything is real but the other end of each wire: the `hikidashi slack` command, slack-bolt, strands with its own
AnthropicModel, and tavily-python.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import yaml

from hikidashi.testing import MessagesServer, SlackServer, TavilyPage, TavilyServer, call, say

QUESTION = "Pythonの非同期プログラミングについて検索して"
QUERY = "Python 非同期プログラミング"
ANSWER = (
    "## 検索のまとめ\n\n**asyncio** は標準の仕組みです。詳しくは"
    " [公式ドキュメント](https://docs.python.org/3/library/asyncio.html) をどうぞ。"
)


def test_a_search_that_is_asked_for_in_slack_is_answered_in_the_thread_and_logged(tmp_path: Path) -> None:
    page = TavilyPage(
        url="https://docs.python.org/3/library/asyncio.html",
        title="asyncio --- 非同期 I/O",
        content="asyncio は Python の非同期プログラミングのためのライブラリです。",
    )
    script = [call("web_search", {"query": QUERY}), say(ANSWER)]
    with (
        SlackServer() as slack,
        TavilyServer([page], answer="Pythonの非同期プログラミングは asyncio で行います。") as tavily,
        MessagesServer(script) as model,
    ):
        config = tmp_path / "config.yaml"
        config.write_text(
            yaml.safe_dump(
                {
                    "tools": {"web_search": {"enabled": True, "api_key": "${TAVILY_API_KEY}", "base_url": tavily.url}},
                    "agent": {"provider": "anthropic", "api_key": "${ANTHROPIC_API_KEY}", "base_url": model.url},
                    "slack": {
                        "bot_token": "${SLACK_BOT_TOKEN}",
                        "app_token": "${SLACK_APP_TOKEN}",
                        "base_url": slack.api_url,
                    },
                }
            )
        )
        keys = {
            "TAVILY_API_KEY": "tvly-test",
            "ANTHROPIC_API_KEY": "sk-test",
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_APP_TOKEN": slack.app_token,
        }
        application = subprocess.Popen(
            [sys.executable, "-m", "hikidashi", "slack", "--config", str(config)],
            env={**os.environ, **keys, "NO_PROXY": "127.0.0.1", "LANG": "C.UTF-8", "XDG_STATE_HOME": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        try:
            question = slack.say("C0GENERAL", "U0HANAKO", f"{slack.mention} {QUESTION}")
            assert slack.wait_for(lambda: slack.calls_of("reactions.remove"), 90)
            application.send_signal(signal.SIGTERM)
            said, log = application.communicate(timeout=60)
        finally:
            application.kill()
            application.communicate()

    # The application started, and ended when it was told to.
    assert application.returncode == 0
    assert said.startswith("Slack に @hikidashi として接続しました（Loopback）。\n")
    assert re.search(r"^ツール: .*\bweb_search\b", said, re.MULTILINE)

    # The model was asked, and used web_search, which asked Tavily and told the model what it found.
    assert "web_search" in model.requests[0].tool_names
    assert model.requests[0].text.endswith(QUESTION)
    assert [request.query for request in tavily.requests] == [QUERY]
    (result,) = model.requests[1].tool_result_texts
    assert "Pythonの非同期プログラミングは asyncio で行います。" in result
    assert page.url in result

    # The reply stands in the thread, in Slack's markup, and people could see the tool at work.
    asked, reply = slack.thread("C0GENERAL", question.ts)
    assert (reply.user, reply.thread_ts) == ("U0BOT", question.ts)
    assert reply.text == (
        "*検索のまとめ*\n\n*asyncio* は標準の仕組みです。詳しくは 公式ドキュメント [1] をどうぞ。"
        f"\n\n*出典*\n[1] <{page.url}|{page.title}>"
    )
    assert slack.ever_reacted(asked) == ["thinking_face"]
    assert asked.reactions == ()
    assert slack.too_early == []

    # The log tells of the search at INFO level: the query, and that it went well. No key is in it.
    searches = [line for line in log.splitlines() if "INFO" in line and "web_search" in line and QUERY in line]
    assert len(searches) == 1
    assert "success" in searches[0]
    assert not any(key in said + log for key in keys.values())
