"""Options that several commands share, progress, and printing. Knows no command."""
