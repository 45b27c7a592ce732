"""From recorded work or a task to a skill and its cases. Nothing here is measured, and nothing is read from a disk."""
