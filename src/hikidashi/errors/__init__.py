"""Every error hikidashi raises, in one tree.

    HikidashiError
    ├── MissingExtra (ImportError)               an optional framework is not installed
    ├── Unsupported (TypeError)                  the target of a conversion cannot express something
    ├── ToolValidationError (ValueError)         a tool has no usable name, function or schema
    ├── ToolConnectionError (ConnectionError)    the connection to the server of a tool is lost
    ├── ToolSearchError (ValueError)             a search that cannot be answered: its words, pattern or catalogue
    ├── ToolTurnLimitError (RuntimeError)        a model still called tools after `max_turns` replies
    ├── ToolSourceError (ValueError)             tools that cannot be read from a file, module or list of servers
    ├── SearchLogError                           a search log that cannot be read or written
    ├── TavilyAPIError                           a web search, extraction or context that failed; `error_type` says how
    │   └── PageError                            a page that could not be fetched or read; `reason` says why
    ├── FetchRefused (ValueError)                an address that must not be fetched, such as a private one
    ├── WebIndexError                            the local index of documents cannot be read or written
    ├── SlackError                               Slack refused a call, or cannot be reached
    ├── ServerUnavailableError (ConnectionError)  a server behind the gateway cannot be reached
    │   └── LoginError                           a person could not log in to a server behind the gateway
    ├── ConfigError (ValueError)                 a config file that cannot be used: file, line, key, what is allowed
    └── ClaudeCodeError                          Claude Code, or tools and dependencies for it
        ├── UnsupportedDepsTypeError             dependencies that cannot be serialised as JSON
        ├── MissingDepsError                     a tool reads dependencies, and none were given
        ├── DepsJSONError (ValueError)           JSON that does not describe the dependencies asked for
        ├── TypeHintResolutionError              type hints of dependencies that cannot be resolved
        ├── ToolsetNotRegisteredError            tools were asked for before `set_agent_toolsets()`
        ├── ToolNotFoundError                    a tool was asked for that no toolset has
        ├── InvalidSettingError (ValueError)     a model setting of the wrong type, or out of range
        ├── ClaudeCodeNotFoundError              the Claude Code CLI was not found
        ├── ClaudeCodeProcessError               the CLI ended, or could not start
        ├── ClaudeCodeTimeoutError (TimeoutError)  no answer in time
        ├── ClaudeCodeAPIError                   the model's API refused or failed
        └── ClaudeCodeLimitError                 `max_turns` or `max_budget_usd` was reached

Each class has its details as attributes, so callers never parse its text, and is rebuilt from
`args`, so it survives pickle and copy.
"""

from __future__ import annotations

from ._base import HikidashiError, MissingExtra
from .claude import (
    ClaudeCodeAPIError,
    ClaudeCodeError,
    ClaudeCodeLimitError,
    ClaudeCodeNotFoundError,
    ClaudeCodeProcessError,
    ClaudeCodeTimeoutError,
    DepsJSONError,
    InvalidSettingError,
    MissingDepsError,
    ToolNotFoundError,
    ToolsetNotRegisteredError,
    TypeHintResolutionError,
    UnsupportedDepsTypeError,
)
from .config import ConfigError
from .gateway import LoginError, ServerUnavailableError
from .search import SearchLogError, ToolSearchError, ToolSourceError, ToolTurnLimitError
from .search import ToolSearchCode as ToolSearchCode
from .slack import SlackError
from .tools import ToolConnectionError, ToolValidationError, Unsupported
from .web import ErrorType, FetchRefused, PageError, TavilyAPIError, WebIndexError

__all__ = [
    "ClaudeCodeAPIError",
    "ClaudeCodeError",
    "ClaudeCodeLimitError",
    "ClaudeCodeNotFoundError",
    "ClaudeCodeProcessError",
    "ClaudeCodeTimeoutError",
    "ConfigError",
    "DepsJSONError",
    "ErrorType",
    "FetchRefused",
    "HikidashiError",
    "InvalidSettingError",
    "LoginError",
    "MissingDepsError",
    "MissingExtra",
    "PageError",
    "SearchLogError",
    "ServerUnavailableError",
    "SlackError",
    "TavilyAPIError",
    "ToolConnectionError",
    "ToolNotFoundError",
    "ToolSearchError",
    "ToolSourceError",
    "ToolTurnLimitError",
    "ToolValidationError",
    "ToolsetNotRegisteredError",
    "TypeHintResolutionError",
    "Unsupported",
    "UnsupportedDepsTypeError",
    "WebIndexError",
]

# Tracebacks and pickles name the package that people import from, not the file of the class.
for _name in __all__:
    globals()[_name].__module__ = __name__
