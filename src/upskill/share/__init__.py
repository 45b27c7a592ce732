"""What leaves the house: evidence, install, publish, verify, the pull request."""
