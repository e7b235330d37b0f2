"""What several notebooks share, made ready before them: data, vectors that are kept, encoders."""

from __future__ import annotations

import importlib

from sentbook.data import sources
from sentbook.runs.batch import planning
from sentbook.runs.batch.stamps import Job, recorded
from sentbook.system.errors import ConfigError

# The seconds of its trainings are compared in a table.
_TIMED = ("wsv",)


def data(paper: str, profile: str) -> str:
    """Fetch and verify the files that the recorded runs of ``paper`` opened; a sentence.

    A file without an address that is not here is named and passed over: other packages or files may hold the same.

    Raises:
        ConfigError: no recorded run tells of a file.
        DataError: a file is damaged, or cannot be fetched.
    """
    names = planning.files_of(paper, profile)
    if not names:
        raise ConfigError(f"No recorded run of {paper} tells which files it read; name a paper with results/{profile}.")
    job = Job(profile, "data", paper)
    with recorded(job, planning.sources_at_start(job)) as facts:
        missing = []
        for name in names:
            if sources.find(name) is None and sources.registry()[name]["url"] is None:
                missing.append(name)
            else:
                sources.path(name)
        facts["data"] = planning.data(names)
    absent = f" {len(missing)} can be had only from a mirror: {' '.join(missing)}" if missing else ""
    return f"{len(names) - len(missing)} files are here and as registered.{absent}"


def vectors(name: str, profile: str) -> str:
    """Compute the kept sentence vectors of an encoder of today, unless they are there; a sentence.

    Raises:
        ConfigError: an unknown encoder.
        DataError: its package or a file of data is missing.
    """
    from sentbook.data import modern

    job = Job(profile, "vectors", name)
    with recorded(job, planning.sources_at_start(job)) as facts:
        sentences, matrix = modern.kept_vectors(name)
        facts["data"] = planning.data(sources.used())
    return f"{len(sentences)} sentences, {matrix.shape[1]} numbers each."


def encoders(name: str, profile: str) -> list[tuple[str, str, int]]:
    """Train or find the encoders of ``paper``, or one of them; the key, the method and the seed of each.

    Args:
        name: ``dnt``; or ``dnt/gran``, see `planning.slug`.

    Raises:
        ConfigError: no such paper or encoder.
        SentbookError: as `sentbook.training.recipes.obtain`.
    """
    paper, _, only = name.partition("/")
    if paper not in planning.ENCODERS:
        raise ConfigError(f"'{paper}' has no encoders to share; choose one of {', '.join(planning.ENCODERS)}.")
    known = {planning.slug(method): method for method in planning.ENCODERS[paper]}
    if only and only not in known:
        raise ConfigError(f"There is no encoder '{only}' of {paper}; choose one of {', '.join(known)}.")
    job = Job(profile, "encoders", name)
    with recorded(job, planning.sources_at_start(job)) as facts:
        from sentbook import config  # from here on torch is imported, which is time and memory of the job
        from sentbook.study import Study

        settings = config.load(paper, {"profile": profile})
        study = Study(paper, "encoders", settings)
        made = importlib.import_module(f"sentbook.papers.{paper}").pretrained(study, settings)
        wanted = [made[known[only]]] if only else list(made.values())
        found = study.train(*wanted, jobs=1 if paper in _TIMED else None)
        facts["keys"] = sorted({item.recipe.key() for item in found})
        read = {file for item in found for file in item.metadata.get("data", {})}
        facts["data"] = planning.data(read | set(sources.used()))
    return [(item.recipe.key(), item.method, item.seed) for item in found]
