"""Codex, Claude Code and opencode as harnesses, each behind one adapter."""
