"""The README of an exported encoder: what it is, what it learned from, what was measured, what it is not for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import yaml

from sentbook import config
from sentbook import records as results
from sentbook.data import corpora, sources, vectors
from sentbook.exchange.portable import Portable
from sentbook.models import EncoderOptions
from sentbook.runs import ledger
from sentbook.system.errors import ConfigError
from sentbook.system.paths import root
from sentbook.training.recipes import Recipe
from sentbook.training.settings import (
    EntailmentTraining,
    GenerationTraining,
    HeadTraining,
    MarginTraining,
    SimilarityTraining,
    Stage,
)


@dataclass(frozen=True)
class Measured:
    """A recorded run that used the encoder, and its rows; None where the run holds others of its method and seed."""

    run: results.Run
    rows: Sequence[results.Metric] | None

    @property
    def name(self) -> str:
        return f"{self.run.profile}/{self.run.paper}/{self.run.experiment}"


def recorded(key: str) -> list[Measured]:
    """The recorded runs that name the encoder ``key``, and what they measured of it."""
    found = []
    for run in _runs(key):
        entries = [entry for entry in run.extra.get("artifacts", ()) if "key" in entry]
        of_it = {(entry["method"], entry["seed"]) for entry in entries if entry["key"] == key}
        others = {(entry["method"], entry["seed"]) for entry in entries if entry["key"] != key}
        if of_it:
            rows = [row for row in run.metrics if (row.method, row.seed) in of_it]
            found.append(Measured(run, None if of_it & others else rows))
    return found


def _runs(key: str) -> Iterator[results.Run]:
    with suppress(ConfigError):  # outside a checkout nothing is recorded
        for profile in config.PROFILES:
            for path in sorted((root() / "results" / profile).glob("*/*.json")):
                if key in path.read_text(encoding="utf-8"):
                    run = ledger.read(path.parent.name, path.stem, profile)
                    if run is not None:
                        yield run


def card(model: Portable, name: str, recipe: Recipe, runs: Sequence[Measured]) -> str:
    """The text of README.md, with the header that model hubs read.

    Args:
        name: one line, the title.
        recipe: of ``model``, for its stages.
        runs: of `recorded`.
    """
    papers = {measured.run.paper for measured in runs} or _papers_of(recipe.encoder)
    head = {
        "library_name": "sentence-transformers",
        "pipeline_tag": "sentence-similarity",
        "language": "en",
        "license": "other",
        "license_name": "code-mit-data-several",
        "tags": ["sentence-transformers", "sentence-similarity", "sentbook"],
    }
    parts = [
        f"---\n{yaml.safe_dump(head, sort_keys=False)}---",
        f"# {name}",
        f"{model.encoder.summary}: sentences to vectors of {model.dimension} numbers, to be compared by their "
        "cosine.\n"
        f"Source: {model.encoder.source}.\n"
        "Trained by *sentbook*, which reproduces the paper; not by the paper's authors.",
        _facts(model, recipe),
        _use(model),
        f"## Training\n\n{_training(recipe, papers)}",
        f"## Evaluation\n\n{_evaluation(model, runs)}",
        f"## Intended use and limits\n\n{_limits(model, recipe)}",
        f"## Data and licences\n\n{_licences(model, recipe)}",
    ]
    return "\n\n".join(parts) + "\n"


def _papers_of(encoder: EncoderOptions) -> set[str]:
    """Find the paper with this encoder and the fewest others: its substitutes are meant where no run says which."""
    compared = {paper: _encoders_of(paper) for paper in config.papers()}
    having = [paper for paper in compared if encoder.kind in compared[paper]]
    return set(sorted(having, key=lambda paper: len(compared[paper]))[:1])


def _encoders_of(paper: str) -> set[str]:
    settings = dict(config.settings_class(paper)())
    return {value.kind for value in settings.values() if isinstance(value, EncoderOptions)}


def _facts(model: Portable, recipe: Recipe) -> str:
    origin = model.description.origin
    options = {name: value for name, value in recipe.encoder.model_dump(mode="json").items() if name != "kind"}
    rows = [
        ("encoder", ", ".join([recipe.encoder.kind, *(f"{option} {value}" for option, value in options.items())])),
        ("tokenisation", f"{recipe.tokenisation}, of the package"),
        ("words", f"{model.description.words:,} of {model.description.word_dimension} numbers; all others share one"),
        ("parameters", f"{model.encoder.parameter_count():,}, without the word vectors"),
        ("seed", str(recipe.seed)),
        ("key", f"`{origin['key']}`, the hash of all that decides its numbers"),
        (
            "code",
            f"commit `{origin.get('git_commit', 'unknown')}`, trained {origin.get('started', 'at an unknown time')}",
        ),
    ]
    return _table(("", ""), rows)


def _use(model: Portable) -> str:
    return f"""## Use

`sentbook` must be installed; this folder holds no code.

```python
from sentence_transformers import SentenceTransformer

# Since its version 6 the flag is asked for every module that is not sentence-transformers' own.
model = SentenceTransformer("this folder", trust_remote_code=True)
model.encode(["A man plays."]).shape  # (1, {model.dimension})
```

Without the flag `sentbook.exchange.sentence_transformer.load("this folder")` gives the same model; without
sentence-transformers `sentbook encode "this folder" < lines > vectors.npy` the same vectors, and in MTEB
`mteb.evaluate(sentbook.exchange.mteb.Encoder("this folder"), tasks)` its scores."""


def _training(recipe: Recipe, papers: Iterable[str]) -> str:
    words = "random word vectors" if recipe.random_words else f"the word vectors `{recipe.vectors.name}`"
    steps = [f"{number}. {_stage(stage)}" for number, stage in enumerate(recipe.stages, start=1)]
    named = [vectors.substitute(recipe.vectors.name, paper) for paper in sorted(papers)]
    named += [corpora.substitute(text, paper) for text in recipe.texts() for paper in sorted(papers)]
    stands = [f"- {words}" for words in dict.fromkeys(named) if words]
    parts = [f"From {words}, in this order (all settings are in `config.json`):", "\n".join(steps)]
    if stands:
        parts += ["What stands in for the paper's data:"]
        parts += ["\n".join(stands)]
    return "\n\n".join(parts)


def _stage(stage: Stage) -> str:
    if isinstance(stage, MarginTraining):
        what = f"paraphrase pairs ({', '.join(stage.corpora)}), margin {stage.margin}"
    elif isinstance(stage, EntailmentTraining):
        what = f"three-way inference pairs ({stage.corpus})"
    elif isinstance(stage, GenerationTraining):
        learned = "learned" if stage.embedding_update == "dense" else "fixed"
        what = f"text ({stage.corpus}) that decoders write, {stage.model}; word vectors {learned}; no decoder is here"
    elif isinstance(stage, HeadTraining):
        trained = "alone, the encoder fixed" if stage.frozen else "with the encoder"
        what = f"scored pairs ({stage.dataset}), by a classifier on two vectors, trained {trained}; it is not here"
    else:
        assert isinstance(stage, SimilarityTraining)
        what = f"scored pairs ({stage.dataset}), by the {stage.score} of two vectors"
    return f"{what}; {stage.epochs} {'epoch' if stage.epochs == 1 else 'epochs'}"


def _evaluation(model: Portable, runs: Sequence[Measured]) -> str:
    if not runs:
        return "No recorded run used this encoder; nothing is claimed of it."
    parts = [
        "Of one seed, as recorded; correlations in [-1, 1], shares in [0, 1]. The protocol says how: a number of a "
        "trained head or classifier is not the cosine of these vectors."
    ]
    total = model.description.origin["words"]
    if model.description.words < total:
        parts.append(f"**Measured with all {total:,} words of the encoder; this folder keeps fewer.**")
    shown: dict[str, str] = {}
    for measured in runs:
        title = f"Run `{measured.name}` (`results/{measured.name}.json`, commit `{measured.run.provenance.git_commit}`)"
        if measured.rows:
            rows = [(row.dataset, row.metric, row.protocol, f"{row.n:,}", f"{row.value:.4f}") for row in measured.rows]
            table = _table(("data", "metric", "protocol", "n", "value"), rows)
            same = shown.setdefault(table, measured.name)
            parts += [f"{title}:", table] if same == measured.name else [f"{title}: the numbers of `{same}`."]
        elif measured.rows is None:
            parts.append(f"{title} used it, beside others of its method and seed from which its rows do not tell it.")
        else:
            parts.append(f"{title} used it and has no row of it alone.")
    return "\n\n".join(parts)


def _limits(model: Portable, recipe: Recipe) -> str:
    if recipe.vectors.name.startswith("miniworld"):
        return "A demonstration: its words and texts are generated, and it says nothing of English."
    return f"""For research on sentence similarity in English: to reproduce, to compare, to train further.

- A reproduction with smaller data than the paper's, not the best encoder one can have; those of later years are better.
- Words beyond its {model.description.words:,} all count as one word; so does nearly all of another language.
- What its word vectors and texts hold of prejudice, it holds too. No decision on people should rest on it.
- A sentence without a word is refused. Long texts are read whole, but it learned from sentences and phrases."""


def _licences(model: Portable, recipe: Recipe) -> str:
    data: dict[str, str] = model.description.origin.get("data", {})
    registry = sources.registry()
    rows = [
        (name, registry.get(name, {}).get("licence", "unknown"), f"`{digest[:16]}`") for name, digest in data.items()
    ]
    parts = ["The code is under the MIT licence."]
    if recipe.vectors.name == "file":
        parts.append(
            f"The word vectors are of a file of your own, {model.description.origin['recipe']['vectors']['path']}."
        )
    if any(name.startswith("miniworld") for name in (recipe.vectors.name, *recipe.datasets(), *recipe.texts())):
        parts.append("Word vectors or texts of the mini-world are generated by the code and under its licence.")
    if not rows:
        return " ".join(parts)
    parts.append(
        "The weights derive from these files (word vectors are under `vectors/`), whose licences hold for them; "
        "some may have been read by the same process for another reason:"
    )
    return " ".join(parts) + "\n\n" + _table(("file", "licence", "SHA-256 begins"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in line) + " |" for line in lines
    )
