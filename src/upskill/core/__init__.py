"""Stands under every feature and imports none of them."""
