"""The coding agent pi as a harness."""
