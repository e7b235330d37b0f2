"""Training: the loop, its problems, the search of settings, and the store of what was trained."""
