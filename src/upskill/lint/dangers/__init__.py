"""Dangerous content in skills: one module per subject, and one search with all of them in `search.py`.

Every rule is plain text matching in linear time. No model is asked: a model can be talked to.
"""
