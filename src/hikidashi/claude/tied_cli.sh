#!/bin/sh
# Runs the Claude Code CLI so that it ends with the process that started it, even if that one is killed:
# a CLI that waits for a tool would otherwise live on, and go on asking the API.
exec setpriv --pdeathsig TERM -- "$HIKIDASHI_CLAUDE_CLI" "$@"
