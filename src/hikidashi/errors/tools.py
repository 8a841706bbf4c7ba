"""Errors of tools and their conversions."""

from __future__ import annotations

from ._base import HikidashiError


class Unsupported(HikidashiError, TypeError):  # noqa: N818 - reads as what it says
    """The target of a conversion cannot express `what`."""

    def __init__(self, what: str, target: str, remedy: str = "") -> None:
        super().__init__(what, target, remedy)
        self.what = what
        self.target = target
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.target} cannot express {self.what}." + (f" {self.remedy}" if self.remedy else "")


class ToolValidationError(HikidashiError, ValueError):
    """A tool has no usable name, function or schema."""

    def __init__(self, message: str, tool_name: str | None = None) -> None:
        super().__init__(message, tool_name)
        self.message = message
        self.tool_name = tool_name

    def __str__(self) -> str:
        return self.message


class ToolConnectionError(HikidashiError, ConnectionError):
    """The connection to the server of the tool `tool_name` is lost."""

    def __init__(
        self,
        tool_name: str,
        reason: str,
        remedy: str = "Connect again, list its tools again, and keep the connection open while they are used.",
    ) -> None:
        super().__init__(tool_name, reason)  # of three, OSError takes the last for the name of a file
        self.tool_name = tool_name
        self.reason = reason
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[ToolConnectionError], tuple[str, str, str]]:
        return type(self), (self.tool_name, self.reason, self.remedy)

    def __str__(self) -> str:
        return f"The connection to the server of tool {self.tool_name!r} is lost: {self.reason}. {self.remedy}"
