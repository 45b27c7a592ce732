"""Generating a skill."""
