"""A plan -> trials, on the Inspect engine. Is handed a `grade` function and knows no kind of check."""
