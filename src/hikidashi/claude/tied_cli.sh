#!/bin/sh
# Runs the Claude Code CLI so that it ends with the process that started it, even if that one is killed:
# a CLI that waits for a tool would otherwise live on, and go on asking the API.
# It has a session of its own, so that Ctrl-C in a terminal is for that process alone: a CLI that hears of it breaks
# off and ends, while the process would wait for its last word, or let an answer finish.
exec setsid --wait setpriv --pdeathsig TERM -- "$HIKIDASHI_CLAUDE_CLI" "$@"
