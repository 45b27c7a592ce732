"""Commands around a run: init, models, settings, trust, doctor."""
