"""Tests of the room `trials` that need no engine."""
