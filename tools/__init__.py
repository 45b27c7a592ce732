"""Programs for those who work on this repository. Not part of the package."""
