"""The scopes and events of the Slack app, and the manifest that sets them up."""

from __future__ import annotations

from typing import Any

BOT_SCOPES = {
    "app_mentions:read": "receive mentions of the bot",
    "channels:history": "read the thread of a question in a public channel",
    "chat:write": "answer",
    "groups:history": "read the thread of a question in a private channel",
    "im:history": "receive and read direct messages",
    "mpim:history": "read the thread of a question in a group message",
    "reactions:write": "show that an answer is in progress",
    "users:read": "give the model the names of the authors",
}
"""The scopes of the bot token, and their purpose."""

BOT_EVENTS = ("app_mention", "message.im")
"""The events the app subscribes to."""


def app_manifest(name: str = "hikidashi") -> dict[str, Any]:
    """A manifest for "Create New App, From a manifest" on Slack's website, with Socket Mode."""
    return {
        "display_information": {
            "name": name,
            "description": "Answers mentions and direct messages in their threads, with web search.",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": False,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": name, "always_online": True},
        },
        "oauth_config": {"scopes": {"bot": list(BOT_SCOPES)}},
        "settings": {
            "event_subscriptions": {"bot_events": list(BOT_EVENTS)},
            "org_deploy_enabled": False,
            "socket_mode_enabled": True,
            "token_rotation_enabled": False,
        },
    }
