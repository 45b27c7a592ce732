"""Controls: a skill that says nothing of the subject, and one that says the wrong thing. They decide no verdict."""
