"""One module per harness. Each is listed in `domain/harness.py` and imports the engine only when trials are run."""
