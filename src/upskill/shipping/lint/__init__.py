"""Rules on how a skill is written: the specification, what agents make of it, quality, and skills that compete.

Every rule is plain text matching in linear time. One module per family, the table of all in `rules.py`.
"""
