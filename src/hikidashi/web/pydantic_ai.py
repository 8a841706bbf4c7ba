"""The web tools for pydantic-ai: the functions spec 000 names, and a toolset for any agent.

The functions take provider, language and fencing from `ctx.deps`. A failed search does not raise, but returns the error
text of section 5.3. Ranges are in the schema and checked by the functions: a model that ignores them reads what is
allowed instead of using up the agent's retries.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import WithJsonSchema

from ..errors import MissingExtra
from ..texts import Language
from ..tool import ToolResult
from .answers import ANSWER_TOKENS, Untrusted
from .provider import SearchProvider
from .tools import SPEC_DEFAULTS, TOOL_NAMES, SearchDefaults, WebTools, definition, full_definition

try:
    from pydantic_ai import Agent, RunContext, Tool, ToolFailed
    from pydantic_ai.tools import GenerateToolJsonSchema
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

_CHOSEN: Any = None
"""In place of a provider: it is chosen when the deps are made."""


@dataclass(frozen=True, kw_only=True)
class TavilySearchDeps:
    """The dependencies of the tools, in `ctx.deps`."""

    client: SearchProvider = _CHOSEN
    """The provider; by default Tavily if `TAVILY_API_KEY` is set, else the local index."""
    language: Language = "ja"
    """The language of the answers."""
    untrusted: Untrusted = None
    """`"fence"` marks text from the web as data; `None` keeps the exact formats of spec 000."""
    max_tokens: int | None = None
    """Limit of an answer in estimated tokens.

    `None` is the limit of the mixin or agent that registered the tools; the functions of spec 000 by themselves have no
    limit.
    """

    def __post_init__(self) -> None:
        if self.client is _CHOSEN:
            from .providers.choose import choose_provider

            object.__setattr__(self, "client", choose_provider(language=self.language))

    @property
    def tools(self) -> WebTools:
        """The tools behind the functions."""
        return WebTools(
            provider=self.client, language=self.language, untrusted=self.untrusted, max_tokens=self.max_tokens
        )


def _schema_of(tool_name: str, argument: str) -> WithJsonSchema:
    return WithJsonSchema(definition(tool_name).input_schema["properties"][argument])


async def tavily_search(
    ctx: RunContext[TavilySearchDeps],
    query: str,
    search_depth: Annotated[str, _schema_of("tavily_search", "search_depth")] = "basic",
    max_results: Annotated[int, _schema_of("tavily_search", "max_results")] = 5,
) -> str:
    """Web検索を実行する。

    Args:
        ctx: 実行コンテキスト（依存性注入）
        query: 検索クエリ（必須、空文字禁止、最大1000文字）
        search_depth: 検索詳細度 ("basic" または "advanced")
        max_results: 結果数 (1-20、デフォルト: 5)

    Returns:
        検索結果をフォーマットした文字列。失敗した場合はエラーメッセージ
    """  # noqa: D400, D415 - a Japanese full stop
    return (await ctx.deps.tools.search(query, search_depth, max_results)).text


async def tavily_extract(
    ctx: RunContext[TavilySearchDeps], urls: Annotated[list[str], _schema_of("tavily_extract", "urls")]
) -> str:
    """URL群からコンテンツを抽出する。

    Args:
        ctx: 実行コンテキスト（依存性注入）
        urls: 抽出対象URL群（必須、空リスト禁止、各URLはhttp/https必須）

    Returns:
        抽出結果をフォーマットした文字列。失敗した場合はエラーメッセージ
    """  # noqa: D400, D415 - a Japanese full stop
    return (await ctx.deps.tools.extract(urls)).text


async def tavily_context(
    ctx: RunContext[TavilySearchDeps],
    query: str,
    max_tokens: Annotated[int | None, _schema_of("tavily_context", "max_tokens")] = None,
) -> str:
    """RAG用検索コンテキストを取得する。

    Args:
        ctx: 実行コンテキスト（依存性注入）
        query: 検索クエリ（必須、空文字禁止、最大1000文字）
        max_tokens: 最大トークン数（省略時はAPI側デフォルト）

    Returns:
        RAG用に最適化されたコンテキスト文字列。失敗した場合はエラーメッセージ
    """  # noqa: D400, D415 - a Japanese full stop
    return (await ctx.deps.tools.context(query, max_tokens)).text


class TavilyToolsRepositoryMixin:
    """Mixin that adds the three web tools to a class.

    ```python
    class Tools(TavilyToolsRepositoryMixin):
        tavily_language = "en"


    agent = Agent("anthropic:claude-sonnet-5", deps_type=TavilySearchDeps, tools=Tools().tavily_tools)
    await agent.run("...", deps=TavilySearchDeps())
    ```
    """

    tavily_language: Language = "ja"
    """The language of the tools' descriptions."""
    tavily_defaults: SearchDefaults = SPEC_DEFAULTS
    """Defaults of `tavily_search`."""
    tavily_max_tokens: int | None = ANSWER_TOKENS
    """Limit of an answer in estimated tokens if `ctx.deps` has none; `None` is unlimited."""

    @property
    def tavily_tools(self) -> list[Tool[TavilySearchDeps]]:
        """`tavily_search`, `tavily_extract` and `tavily_context`, for `Agent(tools=...)`."""
        toolset = FunctionToolset[TavilySearchDeps]()
        self.register_tavily_tools(toolset)
        return list(toolset.tools.values())

    def register_tavily_tools(self, target: Agent[TavilySearchDeps, Any] | FunctionToolset[TavilySearchDeps]) -> None:
        """Add the three tools to an agent or a toolset.

        They answer as the functions of spec 000 do, within `tavily_max_tokens`; `tavily_extract` also takes `query` and
        `offset`, to read a long page in parts. A failed call is raised as `ToolFailed`.
        """
        language, defaults = self.tavily_language, self.tavily_defaults

        def tools_of(ctx: RunContext[TavilySearchDeps]) -> WebTools:
            tools = ctx.deps.tools
            return tools if tools.max_tokens is not None else replace(tools, max_tokens=self.tavily_max_tokens)

        for name, function in _functions(tools_of, defaults):
            reads_pages = name == "tavily_extract"
            defined = full_definition(name, None, language) if reads_pages else definition(name, language, defaults)
            schema = _always(defined.input_schema)
            target.tool(name=name, description=defined.description, schema_generator=schema)(function)


def web_toolset(
    client: SearchProvider | None = None,
    *,
    language: Language = "ja",
    untrusted: Untrusted = "fence",
    defaults: SearchDefaults = SPEC_DEFAULTS,
    max_tokens: int | None = ANSWER_TOKENS,
) -> FunctionToolset[Any]:
    """The three tools for an agent with any deps, or none: `Agent(toolsets=[web_toolset()])`.

    The default provider is Tavily if `TAVILY_API_KEY` is set, else the local index. The tools take the filters that the
    provider supports, and an answer has at most about `max_tokens` tokens.
    """
    provider = _CHOSEN if client is None else client
    deps = TavilySearchDeps(client=provider, language=language, untrusted=untrusted, max_tokens=max_tokens)
    tools = deps.tools
    toolset = FunctionToolset[Any](id="hikidashi-web")
    for name, function in _functions(lambda _: tools, defaults):
        defined = full_definition(name, deps.client, language, defaults)
        schema = _always(defined.input_schema)
        toolset.tool(name=name, description=defined.description, schema_generator=schema)(function)
    return toolset


def _functions(
    tools_of: Callable[[RunContext[Any]], WebTools], defaults: SearchDefaults
) -> list[tuple[str, Callable[..., Coroutine[Any, Any, str]]]]:
    """Name and function of each tool; their arguments are described by schemas of ours and checked by `WebTools`."""

    async def search(ctx: RunContext[Any], query: str, **given: Any) -> str:
        chosen: dict[str, Any] = {"search_depth": defaults.search_depth, "max_results": defaults.max_results} | given
        return _text_or_failure(await tools_of(ctx).search(query, **chosen))

    async def extract(ctx: RunContext[Any], urls: list[str], **given: Any) -> str:
        return _text_or_failure(await tools_of(ctx).extract(urls, **given))

    async def context(ctx: RunContext[Any], query: str, **given: Any) -> str:
        return _text_or_failure(await tools_of(ctx).context(query, **given))

    return list(zip(TOOL_NAMES, (search, extract, context), strict=True))


def _text_or_failure(result: ToolResult) -> str:
    """The text of an answer; a failed one is raised as `ToolFailed`, so that traces show the failure."""
    if result.is_error:
        raise ToolFailed(result.text)
    return result.text


def _always(input_schema: dict[str, Any]) -> type[GenerateToolJsonSchema]:
    """A schema generator that returns `input_schema` regardless of the function's signature."""

    class Exactly(GenerateToolJsonSchema):
        def generate(self, schema: Any, mode: Any = "validation") -> dict[str, Any]:
            return dict(input_schema) if mode == "validation" else super().generate(schema, mode)

    return Exactly
