"""Measures skills with and without: eval, regrade, resume, compare, cases, past runs."""
