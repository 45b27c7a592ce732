"""Generating a skill: planned, run in stages that can be resumed, proved and saved."""
