"""Case files, their families and splits, and the qualification of cases before a student gets them."""
