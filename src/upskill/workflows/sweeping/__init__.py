"""Sweeps: plan many jobs, run them on this machine or on others, and put their results into one table."""
