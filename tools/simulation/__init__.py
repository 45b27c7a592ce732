"""Simulated students, teachers and recordings, for tests and benchmarks alike. Neither imports the other."""
