from sentbook.runs.printed import *  # noqa: F403
