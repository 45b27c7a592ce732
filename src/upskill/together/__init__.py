"""Several skills in one student: which of them takes loads or lift from which."""
