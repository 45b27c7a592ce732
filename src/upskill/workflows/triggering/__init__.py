"""Measures when a skill is loaded: on prompts that should load it, and on near misses that should not."""
