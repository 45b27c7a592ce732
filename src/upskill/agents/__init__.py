"""Codex, Claude Code, opencode and Qwen Code as harnesses, each behind one adapter."""
