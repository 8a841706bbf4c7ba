"""`hikidashi slack`, as a user runs it: a process of its own, on a loopback Slack."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hikidashi.apps.slack.manifest import BOT_EVENTS, BOT_SCOPES, app_manifest
from hikidashi.cli import main
from hikidashi.testing import MessagesServer, SlackServer, fault, say

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Ended = tuple[Any, str, str]

FRAMEWORKS = ("pydantic_ai", "claude_agent_sdk", "mcp", "strands", "anthropic", "tavily", "slack_bolt", "slack_sdk")


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer() as server:
        yield server


def config_for(slack: SlackServer, folder: Path, *, model_url: str = "http://127.0.0.1:9", tokens: bool = True) -> Path:
    agent = {"base_url": model_url, "api_key": "sk-test", "language": "en"}
    login = {"bot_token": slack.bot_token, "app_token": slack.app_token} if tokens else {}
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump({"agent": agent, "slack": {"base_url": slack.api_url, **login}}))
    return file


def test_the_help_tells_how_to_set_the_app_up_and_fits_80_columns(command: Command) -> None:
    done = command("slack", "--help", without=FRAMEWORKS)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Examples:\n    hikidashi slack" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    (scopes,) = re.findall(r"Scopes(.*)Events", done.stdout, re.DOTALL)
    (events,) = re.findall(r"Events(.*)\n", done.stdout)
    assert (set(scopes.split()), set(events.split())) == (set(BOT_SCOPES), set(BOT_EVENTS))


def test_the_manifest_is_yaml_or_json_and_needs_no_framework(command: Command) -> None:
    as_yaml = command("slack", "--manifest", without=FRAMEWORKS)
    as_json = command("slack", "--manifest", "--json", without=FRAMEWORKS)
    assert (as_yaml.returncode, as_json.returncode) == (0, 0)
    assert yaml.safe_load(as_yaml.stdout) == json.loads(as_json.stdout) == app_manifest()
    assert app_manifest("search")["features"]["bot_user"]["display_name"] == "search"


def test_the_manifest_is_printed_here_too(here: Callable[..., Ended]) -> None:
    code, out, err = here("--manifest")
    assert (code, yaml.safe_load(out), err) == (0, app_manifest(), "")


def test_the_manifest_asks_for_what_the_bot_uses_and_no_more(slack: SlackServer) -> None:
    manifest = app_manifest()
    assert set(manifest["oauth_config"]["scopes"]["bot"]) == slack.bot.scopes
    assert set(manifest["settings"]["event_subscriptions"]["bot_events"]) == slack.events
    assert manifest["settings"]["socket_mode_enabled"] is True


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Ended]:
    """`here("--check")` runs `hikidashi slack --check` in this process, which has everything imported."""
    for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def run(*arguments: str, **environment: str) -> Ended:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["hikidashi", "slack", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return run


def test_without_tokens_it_says_which_one_is_missing(
    here: Callable[..., Ended], slack: SlackServer, tmp_path: Path
) -> None:
    file = config_for(slack, tmp_path, tokens=False)
    for given, missing in (({}, "bot_token"), ({"SLACK_BOT_TOKEN": "xoxb-test"}, "app_token")):
        code, out, err = here("--config", str(file), **given)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert err.startswith(f"error: {file}: `slack.{missing}`: is missing. Set SLACK_{missing.upper()} ")


def test_a_check_says_as_whom_it_is_connected(here: Callable[..., Ended], slack: SlackServer, tmp_path: Path) -> None:
    code, out, _ = here("--check", "--config", str(config_for(slack, tmp_path)))
    assert (code, out) == (
        0,
        "Connected to Slack as @hikidashi in Loopback.\n"
        "Invite it to a channel: /invite @hikidashi\n"
        "Ask it: write @hikidashi and your question, or send it a direct message.\n"
        "Tools: none\n",
    )


def test_a_check_takes_tokens_from_the_environment_and_speaks_japanese(
    here: Callable[..., Ended], slack: SlackServer, tmp_path: Path
) -> None:
    file = config_for(slack, tmp_path, tokens=False)
    tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
    code, out, err = here("--check", "--lang", "ja", "--config", str(file), **tokens)
    assert code == 0
    assert out.startswith("Slack に @hikidashi として接続しました（Loopback）。\n")
    assert "INFO hikidashi: Slack: connected as @hikidashi" in err
    assert "WARNING" not in err


def test_without_a_config_file_the_tokens_of_the_environment_do(
    here: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HIKIDASHI_CONFIG", raising=False)
    code, _, err = here(
        "--check", ANTHROPIC_API_KEY="sk-test", SLACK_BOT_TOKEN="xapp-test", SLACK_APP_TOKEN="xoxb-test"
    )
    assert code == 1
    assert err.endswith("The bot token begins with xoxb-, the app token with xapp-: they may be swapped.\n")


@pytest.mark.parametrize("wrong", ["bot_token", "app_token"])
def test_a_wrong_token_ends_with_1_and_is_not_shown(
    here: Callable[..., Ended], slack: SlackServer, tmp_path: Path, wrong: str
) -> None:
    file = config_for(slack, tmp_path)
    file.write_text(file.read_text().replace(f"{wrong}: {getattr(slack, wrong)}", f"{wrong}: x-wrong"))
    method = "auth.test" if wrong == "bot_token" else "apps.connections.open"
    assert here("--config", str(file)) == (
        1,
        "",
        f"error: Slack: `{method}` failed with invalid_auth. "
        "Check the bot token (xoxb-...) and the app token (xapp-...).\n",
    )


def test_without_its_extra_it_says_what_to_install(command: Command, slack: SlackServer, tmp_path: Path) -> None:
    done = command("slack", "--config", str(config_for(slack, tmp_path)), without=("slack_bolt",))
    assert done.returncode == 1
    assert done.stderr == "error: `slack-bolt` is not installed. Run: pip install 'hikidashi[slack]'\n"


@pytest.fixture
def until_answered(here: Callable[..., Ended], slack: SlackServer, tmp_path: Path) -> Callable[..., Ended]:
    """`until_answered(2, "Yes.")` runs the bot until it is done with its second question; the model says "Yes."."""

    def run(count: int, said: str) -> Ended:
        def stop() -> None:
            slack.wait_for(lambda: len(slack.calls_of("reactions.remove")) >= count)
            os.kill(os.getpid(), signal.SIGINT)

        stopping = threading.Thread(target=stop)
        with MessagesServer([say(said)]) as model:
            file = config_for(slack, tmp_path, model_url=model.url)
            stopping.start()
            ended = here("--config", str(file))
            stopping.join()
        return ended

    return run


def test_it_answers_until_a_signal_and_ends_with_0(until_answered: Callable[..., Ended], slack: SlackServer) -> None:
    question = slack.say("D0HANAKO", "U0HANAKO", "Anybody there?")
    code, out, err = until_answered(1, "Yes, **here**.")
    assert code == 0
    assert out.endswith("Tools: none\nCtrl-C ends it.\n")
    assert [one.text for one in slack.thread("D0HANAKO", question.ts)] == ["Anybody there?", "Yes, *here*."]
    assert "INFO hikidashi: Slack: answered" in err
    assert not any(token in out + err for token in (slack.bot_token, slack.app_token, "sk-test"))


def test_a_question_that_comes_again_after_a_restart_is_not_answered_again(
    until_answered: Callable[..., Ended], slack: SlackServer, tmp_path: Path
) -> None:
    first = slack.say("D0HANAKO", "U0HANAKO", "Anybody there?")
    until_answered(1, "Yes.")
    slack.deliver_again(slack.socket.deliveries[0])
    second = slack.say("D0HANAKO", "U0HANAKO", "Still?")
    _, _, err = until_answered(2, "Still.")
    assert [one.text for one in slack.thread("D0HANAKO", first.ts)] == ["Anybody there?", "Yes."]
    assert [one.text for one in slack.thread("D0HANAKO", second.ts)] == ["Still?", "Still."]
    assert f"INFO hikidashi: Slack: {first.ts} in D0HANAKO was delivered again." in err
    assert (tmp_path / "state" / "hikidashi" / "slack-seen.sqlite").stat().st_mode & 0o777 == 0o600


def test_a_user_without_a_home_is_told_that_nothing_is_kept(
    until_answered: Callable[..., Ended], slack: SlackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    question = slack.say("D0HANAKO", "U0HANAKO", "Anybody there?")
    code, _, err = until_answered(1, "Yes.")
    assert code == 0
    assert [one.text for one in slack.thread("D0HANAKO", question.ts)] == ["Anybody there?", "Yes."]
    assert err.count("slack-seen.sqlite cannot be used (") == 1


def test_what_a_killed_command_left_unfinished_is_answered_at_the_next_start(
    until_answered: Callable[..., Ended], slack: SlackServer, tmp_path: Path
) -> None:
    with MessagesServer([fault.hang()]) as model:
        file = config_for(slack, tmp_path, model_url=model.url)
        command = [sys.executable, "-m", "hikidashi", "slack", "--config", str(file)]
        environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as killed:
            question = slack.say("D0HANAKO", "U0HANAKO", "Anybody there?")
            begun = slack.wait_for(lambda: len(slack.thread("D0HANAKO", question.ts)) == 2, 60)
            killed.kill()
            killed.communicate()
    assert begun
    assert slack.thread("D0HANAKO", question.ts)[1].text == ":hourglass_flowing_sand: Thinking…"
    _, _, err = until_answered(1, "Yes.")
    assert [one.text for one in slack.thread("D0HANAKO", question.ts)] == ["Anybody there?", "Yes."]
    assert f"Slack: {question.ts} in D0HANAKO is answered after a restart." in err
    assert [path.name for path in (tmp_path / "state" / "hikidashi").iterdir()] == ["slack-seen.sqlite"]


def test_a_bot_that_could_answer_nobody_does_not_start(command: Command, slack: SlackServer, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    login = {"bot_token": slack.bot_token, "app_token": slack.app_token, "base_url": slack.api_url}
    file.write_text(yaml.safe_dump({"agent": {"engine": "claude-code", "language": "en"}, "slack": login}))
    home = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    done = command("slack", "--check", "--config", str(file), **home)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Claude Code is not logged in, and there is no API key. Do one of these: (1)" in done.stderr
