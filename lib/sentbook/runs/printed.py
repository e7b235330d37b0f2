from sentbook.judge.printed import *  # noqa: F403
