"""Evaluations: how one is run here, and how one travels to another process as a job."""
