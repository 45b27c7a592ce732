"""Finds the lines of a skill that answers need, and cuts the others if that loses nothing on held-out cases."""
