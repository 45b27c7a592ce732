"""Rules that find dangerous content in skills: one module per family, one table of all in `rules.py`.

Every rule is plain text matching in linear time. No model is asked: a model can be talked to.
"""
