"""Mines recorded sessions for what is worth teaching, without a model."""
