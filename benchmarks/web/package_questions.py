"""Questions on the READMEs of installed packages, each with the package that answers it.

They were written by hand from what the packages are for, before their texts were read and before any engine was asked.
A question on a package that is not installed is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from .document_questions import Asked

__all__ = ["PACKAGES"]

PACKAGES: Sequence[Asked] = [
    Asked(question, f"package/{name}/")
    for question, name in (
        ("show a progress bar for a loop", "tqdm"),
        ("progress bar in a jupyter notebook", "tqdm"),
        ("how do I convert HTML to markdown", "markdownify"),
        ("parse a human readable date in any language", "dateparser"),
        ("extract the main text of a web page", "trafilatura"),
        ("find the publication date of a web page", "htmldate"),
        ("validate an email address before sending mail", "email-validator"),
        ("check whether a domain accepts mail", "email-validator"),
        ("load environment variables from a .env file", "python-dotenv"),
        ("does a .env file override existing environment variables", "python-dotenv"),
        ("detect the encoding of a text file", "charset-normalizer"),
        ("alternative to chardet that is faster", "charset-normalizer"),
        ("watch a directory for file changes", "watchdog"),
        ("run a shell command whenever a file is modified", "watchdog"),
        ("store passwords in the system keychain", "keyring"),
        ("keyring backend for headless linux", "keyring"),
        ("sorted list and sorted dictionary in pure python", "sortedcontainers"),
        ("colored terminal output on windows", "colorama"),
        ("print tables with colours in the terminal", "rich"),
        ("syntax highlighting in the terminal", "rich"),
        ("width of east asian characters in a terminal", "wcwidth"),
        ("fuzzy matching with regular expressions", "regex"),
        ("variable length lookbehind", "regex"),
        ("gitignore style pattern matching", "pathspec"),
        ("build a command line app from type hints", "typer"),
        ("shell completion for a command line app", "typer"),
        ("linter and formatter written in rust", "ruff"),
        ("replace flake8 and black with one tool", "ruff"),
        ("timezone conversion and daylight saving time ambiguity", "pytz"),
        ("what is the local timezone of the system", "tzlocal"),
        ("add one month to a date, recurrence rules", "python-dateutil"),
        ("classes without boilerplate", "attrs"),
        ("runtime type checking with a decorator", "beartype"),
        ("BM25 search with numpy and scipy sparse matrices", "bm25s"),
        ("HTTP/2 connection pooling", "httpcore"),
        ("a protocol implementation of HTTP/1.1 without I/O", "h11"),
        ("server sent events in starlette or fastapi", "sse-starlette"),
        ("immutable list that can be frozen", "frozenlist"),
        ("URL with query parameters, join paths", "yarl"),
        ("query JSON with expressions", "jmespath"),
        ("asynchronous file reading and writing", "aiofile"),
        ("clean and filter urls for crawling", "courlan"),
        ("constraints on annotated types such as Gt and Len", "annotated-types"),
        ("receive slack events with socket mode", "slack-bolt"),
        ("send a message to a slack channel from python", "slack-sdk"),
        ("search the web with an API key for RAG", "tavily-python"),
        ("how to stream answers from a chat model", "openai"),
        ("retry failed requests and set a timeout for the openai client", "openai"),
        ("decorators and wrappers that keep introspection", "wrapt"),
        ("measure which lines of code were executed by tests", "coverage"),
        ("snapshot testing that updates the source code", "inline-snapshot"),
        ("install node.js in a virtual environment", "nodeenv"),
        ("parse C source code", "pycparser"),
        ("manipulate truetype and opentype fonts", "fonttools"),
        ("download models from the hub", "huggingface-hub"),
        ("fast tokenizer training for byte pair encoding", "tokenizers"),
        ("OAuth and OpenID connect client and server", "authlib"),
        ("get the top level domain of a url", "tld"),
        ("publish documentation to github pages branch", "ghp-import"),
        ("split a list into chunks of equal length", "more-itertools"),
        ("python bindings of libyaml", "pyyaml"),
        ("validate data with python type hints", "pydantic"),
        ("open and resize images", "pillow"),
        ("divide a long list of results into pages with navigation links", "paginate"),
        ("price of tokens of language models", "genai-prices"),
        ("run local models with llama", "ollama"),
        ("create an MCP server with a decorator", "fastmcp"),
        ("agent that loops with tools and a model driven approach", "strands-agents"),
        ("readable article from html, remove clutter", "readability-lxml"),
        ("which node of the syntax tree is a frame executing", "executing"),
        ("validation of a configuration with nice error messages", "cfgv"),
        ("property based testing that shrinks failing examples", "hypothesis"),
        ("xml and html parsing with libxml2", "lxml"),
        ("run pre-commit hooks in several languages", "pre-commit"),
        ("distribute tests over several CPUs", "pytest-xdist"),
        ("asyncio tests with pytest", "pytest-asyncio"),
    )
]
