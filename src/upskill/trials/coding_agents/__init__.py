"""Coding agents that people have installed, run unmodified in a sandbox; their model calls come to us by a bridge."""
