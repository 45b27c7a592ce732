"""Skill folders: reading, writing, versions, archives. Knows no feature."""
