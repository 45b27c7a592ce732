"""Measures whether models load a skill when they should."""
