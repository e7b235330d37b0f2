from sentbook.runs.papers import *  # noqa: F403
