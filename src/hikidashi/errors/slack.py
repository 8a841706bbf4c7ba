"""The error of Slack, with a remedy for each of its codes."""

from __future__ import annotations

from ._base import HikidashiError

_SLACK_REMEDIES = {
    "account_inactive": "The app was removed from the workspace: install it again and use its new bot token.",
    "channel_not_found": "Invite the bot to the channel with /invite.",
    "http_404": "Check `slack.base_url`.",
    "invalid_auth": "Check the bot token (xoxb-...) and the app token (xapp-...).",
    "is_archived": "The channel is archived.",
    "not_allowed_token_type": "The bot token begins with xoxb-, the app token with xapp-: they may be swapped.",
    "not_authed": "Set the bot token (xoxb-...) and the app token (xapp-...).",
    "not_in_channel": "Invite the bot to the channel with /invite.",
    "ratelimited": "Slack asked to wait for too long. Try again later.",
    "restricted_action": "The workspace does not let apps post there.",
    "token_expired": "The tokens of this app rotate: use a new one, or turn off token rotation.",
    "token_revoked": "Install the app again and use its new bot token.",
    "unreachable": "Check the network, the proxy (HTTPS_PROXY, NO_PROXY) and `slack.base_url`.",
}


class SlackError(HikidashiError):
    """Slack refused a call, or cannot be reached; `code` is Slack's error code."""

    def __init__(self, method: str, code: str, needed: str = "", detail: str = "") -> None:
        super().__init__(method, code, needed, detail)
        self.method = method
        """The method of the Web API, such as `chat.postMessage`."""
        self.code = code
        self.needed = needed
        """The missing scope, if `code` is `missing_scope`."""
        self.detail = detail

    @property
    def remedy(self) -> str:
        """What to do next; empty if unknown."""
        if self.code == "missing_scope":
            return f"Add the scope `{self.needed or 'that it needs'}` to the Slack app and install it again."
        return _SLACK_REMEDIES.get(self.code, "")

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        return f"Slack: `{self.method}` failed with {self.code}{detail}. {self.remedy}".rstrip()
