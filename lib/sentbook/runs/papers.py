from sentbook.judge.papers import *  # noqa: F403
