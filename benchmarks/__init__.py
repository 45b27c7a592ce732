"""Measurements of the product by itself, for `make full`. Not part of the package."""
