"""Checks of the gallery, one module per skill. Each runs what a model made in a sandbox and decides outside of it."""
