"""Results -> terminal, page, Markdown, JSON, JUnit, CSV. Knows no engine and no feature."""
