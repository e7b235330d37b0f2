"""Typed, strict configuration. A run's key is the hash of its configuration.

Defaults are the papers' values; `params/<paper>/<profile>.yaml` holds only what differs; a notebook's parameters cell
or the command line may change more. Whatever is unknown, misspelt, wrongly typed or out of range stops the run with
one sentence. YAML's ``1e-3`` is a string for YAML 1.1: the types here make it a number.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, overload

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from sentbook.data import label_pairs
from sentbook.data.novels import PARAGRAPH, WORDS
from sentbook.data.suites import TRANSFER, Dataset, Suite
from sentbook.data.tasks import TASKS, Task
from sentbook.data.text import Tokenisation
from sentbook.data.vectors import VectorName
from sentbook.models import wsv
from sentbook.models.cnn import WindowPadding
from sentbook.models.cse import Activation, Pooling, Windows
from sentbook.models.decoders.lstm import Output, Start
from sentbook.models.losses.margin import Candidates, Selection
from sentbook.models.losses.similarity import Falling, PairScore, ScoreLoss
from sentbook.system.errors import ConfigError
from sentbook.system.paths import root
from sentbook.training.problems.generation import Kind, Per

Profile = Literal["demo", "small", "paper"]
PROFILES: tuple[Profile, ...] = ("demo", "small", "paper")
Rate = Annotated[float, Field(gt=0, le=10)]
Share = Annotated[float, Field(ge=0, lt=1)]
Coefficient = Annotated[float, Field(ge=0)]
TrainingShare = Annotated[float, Field(gt=0, le=1, description="of the training pairs, drawn by the seed")]


class Section(BaseModel):
    """Base of all configuration: frozen, and no unknown names."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Vectors(Section):
    """Initial word vectors; `path` only with ``name: file`` (PARAGRAM-SL999 in the papers)."""

    name: VectorName = "file"
    path: str = ""


class AverageEncoder(Section):
    """PP."""

    kind: Literal["average"] = "average"


class CSEEncoder(Section):
    """CSE, see `sentbook.models.CSE`. The defaults are the clean variant; `faithful` is the released code's."""

    kind: Literal["cse"] = "cse"
    widths: tuple[Annotated[int, Field(ge=1, le=9)], ...] = Field((1, 2, 3), min_length=1)
    filters: int = Field(100, ge=1, description="filters of each width")
    activation: Activation = "linear"
    bias: bool = True
    pooling: Pooling = "sum"
    windows: Windows = "masked"


class WSVEncoder(Section):
    """WSV-SCNN-SV, see `sentbook.models.WSV`. The defaults are the paper's for vectors of 300 dimensions."""

    kind: Literal["wsv"] = "wsv"
    filters: int = Field(600, ge=1, description="F of every layer")
    layers: int = Field(1, ge=1, le=3)
    k: int = Field(3, ge=1, le=16)
    alpha: tuple[float, float] = (0.4, 0.6)
    map_weights: Literal["trained", "fixed"] = "trained"
    bias: bool = False
    padding: wsv.MapPadding = "masked"
    selection: wsv.Selection = "largest"


class BiLSTMEncoder(Section):
    """InferSent (``max``) and BiLSTM-Avg (``mean``), see `sentbook.models.BiLSTM`; 2 x 2048 numbers as published."""

    kind: Literal["bilstm"] = "bilstm"
    hidden: int = Field(2048, ge=1, description="of each direction")
    pool: Literal["max", "mean"] = "max"
    padding: Literal["masked", "zeros"] = "masked"


class GRANEncoder(Section):
    """The gated recurrent averaging network, see `sentbook.models.GRAN`."""

    kind: Literal["gran"] = "gran"
    hidden: int | None = Field(None, ge=1, description="of the LSTM; None: as wide as the word vectors")


class CNNEncoder(Section):
    """The encoder of the CNN-LSTM models, see `sentbook.models.CNN`; 3 x 800 numbers as published."""

    kind: Literal["cnn"] = "cnn"
    widths: tuple[Annotated[int, Field(ge=1, le=9)], ...] = Field((3, 4, 5), min_length=1)
    filters: int = Field(800, ge=1, description="filters of each width")
    padding: WindowPadding = "masked"
    bound: float = Field(0.01, gt=0, description="filters start uniform in [-bound, bound]")


Encoder = Annotated[
    AverageEncoder | CSEEncoder | WSVEncoder | BiLSTMEncoder | GRANEncoder | CNNEncoder, Field(discriminator="kind")
]


class Training(Section):
    """What every training has; see `sentbook.training.loop.fit`."""

    epochs: int = Field(10, ge=1)
    batch_size: int = Field(100, ge=2)
    optimiser: Literal["adam", "adamw", "adagrad", "adadelta", "sgd"] = "adam"
    learning_rate: Rate = 1e-3
    embedding_update: Literal["dense", "lazy", "frozen"] = "lazy"
    pull_back_words: Coefficient = Field(
        1e-6, description="lambda_w of half the squared distance to the initial vectors"
    )
    composition_decay: Coefficient = Field(
        0.0, description="lambda_c, towards 0, or to the loaded values when fine-tuning"
    )
    dropout: Share = Field(0.0, description="on elements of the word vectors")
    clip: Annotated[float, Field(gt=0)] | None = Field(None, description="largest gradient norm")
    bucket: bool = Field(True, description="batches of similar length")
    checks_per_epoch: int = Field(4, ge=1, le=100)
    keep: Literal["best", "last"] = "best"
    precision: Literal["float32", "bf16"] = "float32"

    def rate_after(self, rate: float, *, improved: bool) -> float:
        """The learning rate after a check of the validation metric."""
        return rate


class MarginTraining(Training):
    """Training on paraphrase pairs, equation 5 of Jiao et al."""

    corpora: tuple[str, ...] = Field(("ppdb",), min_length=1)
    limit: int | None = Field(None, ge=4, description="at most so many pairs, drawn by the seed")
    exclude_overlap: bool = Field(True, description="drop pairs that hold a sentence of a test set")
    margin: float = Field(0.6, ge=0, le=2)
    selection: Selection = "max"
    candidates: Candidates = "one side"
    scramble: Share = Field(0.0, description="probability of permuting the words of a pair (the released code: .5)")
    validation: Literal["sts2016", "stsb-dev", "miniworld"] = "sts2016"


class RelatednessTraining(Training):
    """Supervised relatedness, section 4.2 of Jiao et al.; the numbers are those of the released README."""

    batch_size: int = Field(32, ge=2)
    pull_back_words: Coefficient = 1e-4
    composition_decay: Coefficient = 1e-5
    dataset: Literal["sick", "miniworld"] = "sick"
    hidden: int | None = Field(300, ge=1)
    normalise: bool | None = Field(None, description="scale sentence vectors to length one; None: both, see table 3")
    head_decay: Coefficient = Field(1e-7, description="lambda of equation 6")
    smoothing: Coefficient = Field(1e-6, description="added to target probabilities")


class SimilarityTraining(Training):
    """Training of an encoder on scored pairs by the similarity of their vectors: sections 3.5 and 4.2 of Yao et al.

    The paper gives batch size, learning rate (figure 6) and ten epochs (table 2); Adam is the reading.
    """

    batch_size: int = Field(50, ge=2)
    pull_back_words: Coefficient = 0.0
    checks_per_epoch: int = Field(1, ge=1, le=100)
    dataset: Dataset = "sick"
    score: PairScore = "cosine"
    falling: Falling = Field("f1", description="of the distance, where the score is no cosine")
    loss: ScoreLoss = "mse"
    smoothing: float = Field(0.01, gt=0, le=0.5, description="of the predicted probability, in kl and cross-entropy")
    watch: Literal["nothing", "test"] = Field("nothing", description="test metrics of every epoch, for a figure")
    new_words: Literal["random", "shared"] = Field(
        "random", description="words of the data set without a vector: one each, or that of unknown words"
    )


class DirectTransfer(SimilarityTraining):
    """Direct network transfer, equation 1 of Zhang et al.: the cosine towards the score on its scale's limits."""

    new_words: Literal["random", "shared"] = "shared"
    target: Literal["[0, 1]", "[-1, 1]"] = "[0, 1]"
    patience: int | None = Field(None, ge=1, description="checks without a better one after which training stops")
    share: TrainingShare = 1.0


class HeadTraining(Training):
    """Feature transfer and network transfer, section 4.3 of Zhang et al.; Tai's width of the hidden layer."""

    batch_size: int = Field(32, ge=2)
    pull_back_words: Coefficient = 0.0
    checks_per_epoch: int = Field(1, ge=1, le=100)
    dataset: Dataset = "sick"
    hidden: int | None = Field(50, ge=1, description="of the classifier; None: no hidden layer, as SentEval")
    normalise: bool = Field(False, description="scale sentence vectors to length one")
    head_decay: Coefficient = 0.0
    smoothing: Coefficient = Field(1e-6, description="added to target probabilities, in kl")
    loss: Literal["mse", "kl"] = "kl"
    frozen: bool = Field(False, description="train the classifier alone: feature transfer")
    patience: int | None = Field(None, ge=1, description="checks without a better one after which training stops")
    share: TrainingShare = 1.0


class EntailmentTraining(Training):
    """InferSent's training on three-way inference, section 3.3 of Conneau et al. 2017.

    The learning rate falls by 1 % an epoch, and to a fifth after each epoch that is no better on the held-out pairs.
    """

    epochs: int = Field(20, ge=1)
    batch_size: int = Field(64, ge=2)
    optimiser: Literal["adam", "adamw", "adagrad", "adadelta", "sgd"] = "sgd"
    learning_rate: Rate = 0.1
    embedding_update: Literal["dense", "lazy", "frozen"] = "frozen"
    pull_back_words: Coefficient = 0.0
    clip: Annotated[float, Field(gt=0)] | None = 5.0
    checks_per_epoch: int = Field(1, ge=1, le=1)
    corpus: Literal["nli", "miniworld-entailment"] = "nli"
    hidden: int = Field(512, ge=1, description="of both layers of the classifier")
    exclude_overlap: bool = Field(True, description="drop pairs that hold a sentence of a test set")
    decay: float = Field(0.99, gt=0, le=1)
    shrink: float = Field(5.0, ge=1)

    def rate_after(self, rate: float, *, improved: bool) -> float:
        return rate * self.decay / (1 if improved else self.shrink)


class GenerationTraining(Training):
    """Training by what decoders write, sections 2 and 4 of Gan et al. 2017; see `sentbook.training.problems.generation`.

    With ``embedding_update: frozen`` the words keep their pre-trained vectors (+emb); else they are learned from noise.
    """

    epochs: int = Field(8, ge=1)
    batch_size: int = Field(64, ge=2, description="sentences, or paragraphs of the hierarchical model (the paper: 8)")
    learning_rate: Rate = 2e-4
    embedding_update: Literal["dense", "frozen"] = "dense"  # type: ignore[assignment]
    pull_back_words: Coefficient = 0.0
    clip: Annotated[float, Field(gt=0)] | None = 5.0
    accumulate: int = Field(1, ge=1, description="parts of a batch, one after the other, for less memory")
    model: Kind = "autoencoder"
    corpus: Literal["novels", "folder", "miniworld-stories"] = "novels"
    path: str = Field("", description="of a folder of .txt books, with corpus: folder")
    books: int | None = Field(None, ge=2, description="the first so many books; None: all")
    limit: int | None = Field(None, ge=64, description="at most so many sentences in training, drawn by the seed")
    held_out: int | None = Field(None, ge=64, description="at most so many sentences for the held-out likelihood")
    vocabulary: int = Field(WORDS, ge=2, description="words that are learned and predicted")
    longest: int = Field(38, ge=1, description="longer sentences are left out")
    paragraph: int = Field(PARAGRAPH, ge=2, description="sentences of a paragraph")
    hidden: int = Field(600, ge=1, description="of every LSTM")
    start: Start = "zero"
    output: Output = "full"
    bound: float = Field(0.01, gt=0, description="weights of decoders and learned words start in [-bound, bound]")
    per: Per = "token"
    floor: Coefficient = Field(0.0, description="added to probabilities in training (the released code: 1e-6)")

    @model_validator(mode="after")
    def _has_its_folder(self) -> GenerationTraining:
        if (self.corpus == "folder") != bool(self.path):
            raise ValueError("corpus 'folder' and the path of a folder of .txt books go together")
        return self


class RankingTraining(Training):
    """Maps of images and sentences into one space, section 4.2 of Gan et al. 2017; see `sentbook.training.problems.ranking`."""

    epochs: int = Field(30, ge=1)
    batch_size: int = Field(128, ge=2)
    embedding_update: Literal["frozen"] = "frozen"  # type: ignore[assignment]
    pull_back_words: Coefficient = 0.0
    checks_per_epoch: int = Field(1, ge=1, le=100)
    corpus: Literal["coco", "miniworld-scenes"] = "coco"
    path: str = Field("", description="of a folder in the public archive's layout, with corpus: coco")
    dimension: int = Field(1000, ge=1)
    margin: float = Field(0.1, ge=0, le=2)
    contrasts: int | None = Field(50, ge=1)
    faithful: bool = Field(False, description="images keep their length in training, as in the released code")
    patience: int | None = Field(5, ge=1, description="checks without a better one after which training stops")


class ClassifierTraining(Training):
    """An encoder and a softmax on top, trained together on a classification task: figure 3 of Gan et al. 2017."""

    epochs: int = Field(10, ge=1)
    batch_size: int = Field(50, ge=2)
    embedding_update: Literal["dense", "lazy", "frozen"] = "frozen"
    pull_back_words: Coefficient = 0.0
    checks_per_epoch: int = Field(1, ge=1, le=100)
    head_dropout: Share = Field(0.5, description="on the sentence vector")
    patience: int | None = Field(3, ge=1, description="checks without a better one after which training stops")


Stage = MarginTraining | SimilarityTraining | DirectTransfer | HeadTraining | EntailmentTraining | GenerationTraining
Seeds = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]


class Paper(Section):
    """What the experiments of every paper have."""

    profile: Profile = "paper"
    seeds: Seeds = (1, 2, 3, 4, 5)
    ablation_seeds: Seeds = (1, 2, 3)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    jobs: int = Field(1, ge=1, le=64, description="trainings side by side, one thread each")
    suite: Suite = "sts"
    tokenisation: Tokenisation = "ptb"
    resamples: int = Field(2000, ge=100, description="of the bootstrap")
    vectors: Vectors = Vectors()

    @field_validator("seeds", "ablation_seeds")
    @classmethod
    def _distinct(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seeds)) != len(seeds):
            raise ValueError("holds a seed twice")
        return seeds


class CSEPaper(Paper):
    """Every experiment of Jiao et al. 2018."""

    pp: AverageEncoder = AverageEncoder()
    cse: CSEEncoder = CSEEncoder()
    phrase: MarginTraining = MarginTraining()
    sentence: MarginTraining = MarginTraining(corpora=("simple-wikipedia",), dropout=0.1)
    words: MarginTraining = MarginTraining(corpora=("ppdb",))
    filter_sizes: MarginTraining = MarginTraining(corpora=("simple-wikipedia",))
    ablation: MarginTraining = MarginTraining(corpora=("simple-wikipedia",))
    relatedness: RelatednessTraining = RelatednessTraining()


class Dimension(Section):
    """A row of table 2: the first of ``vectors`` that can be had here, its filters, and what tells it from another."""

    vectors: tuple[VectorName, ...] = Field(min_length=1)
    filters: int = Field(ge=1)
    note: str = ""


class LayerMeasurement(Section):
    """Time and memory of the exact first layer against the convolution of the map."""

    dimension: int = Field(300, ge=1)
    filters: int = Field(600, ge=1)
    batch_size: int = Field(20, ge=1)
    lengths: tuple[Annotated[int, Field(ge=2, le=200)], ...] = Field((4, 8, 12, 16, 20, 24, 28, 32, 40), min_length=1)
    rounds: int = Field(5, ge=1)


class WSVPaper(Paper):
    """Every experiment of Yao et al. 2018; ``vectors`` are those of all but table 2 and figure 5."""

    vectors: Vectors = Vectors(name="glove-6b-50d")
    wsv: WSVEncoder = WSVEncoder(filters=200)
    dimensions: tuple[Dimension, ...] = Field(
        (
            Dimension(vectors=("glove-6b-300d", "glove-840b-300d-sick"), filters=600),
            Dimension(vectors=("glove-6b-200d", "glove-840b-sick-pca-200d"), filters=400),
            Dimension(vectors=("glove-6b-100d", "glove-840b-sick-pca-100d"), filters=300),
            Dimension(vectors=("glove-6b-50d",), filters=200),
            Dimension(vectors=("glove-840b-sick-pca-50d",), filters=200, note="GloVe 840B"),
        ),
        min_length=1,
    )
    sick: SimilarityTraining = SimilarityTraining()
    long: SimilarityTraining = SimilarityTraining(epochs=40)
    msrp: SimilarityTraining = SimilarityTraining(dataset="msrp", loss="cross-entropy")
    layer: LayerMeasurement = LayerMeasurement()


class Grid(Section):
    """What a transfer chooses among on the development pairs: the paper's grid is the default.

    Every learning rate is trained with every batch size. The numbers of epochs need no training each: the order of an
    epoch does not depend on how many follow, so the longest run passes through the shorter ones, and the best epoch on
    the development pairs is kept.
    """

    learning_rates: tuple[Rate, ...] = Field((0.1, 0.01, 0.001, 0.0001), min_length=1)
    batch_sizes: tuple[Annotated[int, Field(ge=2)], ...] = Field((32, 64), min_length=1)
    epochs: tuple[Annotated[int, Field(ge=1)], ...] = Field((10, 30, 50), min_length=1)
    patience: int | None = Field(5, ge=1, description="epochs without a better one after which training stops")


class DNTPaper(Paper):
    """Every experiment of Zhang et al. 2018; pre-training is ``inference``, ``simple`` (GRAN) or ``paraphrase``."""

    suite: Suite = "dnt"
    infersent: BiLSTMEncoder = BiLSTMEncoder(pool="max")
    bilstm_average: BiLSTMEncoder = BiLSTMEncoder(pool="mean")
    gran: GRANEncoder = GRANEncoder()
    pp: AverageEncoder = AverageEncoder()
    cse: CSEEncoder = CSEEncoder()
    wsv: WSVEncoder = WSVEncoder()
    inference: EntailmentTraining = EntailmentTraining()
    paraphrase: MarginTraining = MarginTraining(
        corpora=("captions", "rewrites", "quora", "ppdb"), dropout=0.2, scramble=0.3, validation="stsb-dev"
    )
    simple: MarginTraining = MarginTraining(
        corpora=("simple-wikipedia", "rewrites", "captions"), dropout=0.2, scramble=0.3, validation="stsb-dev"
    )
    datasets: tuple[Dataset, ...] = Field(TRANSFER, min_length=1)
    head: HeadTraining = HeadTraining()
    direct: DirectTransfer = DirectTransfer()
    feature_grid: Grid = Grid()
    network_grid: Grid = Grid()
    direct_grid: Grid = Grid()
    shares: tuple[TrainingShare, ...] = Field((0.1, 0.25, 0.5, 1.0), min_length=1)
    shared_datasets: tuple[Dataset, ...] = Field(("stsb", "sick", "sim", "sag"), min_length=1)
    modern: tuple[Literal["all-minilm-l6-v2", "universal-sentence-encoder"], ...] = (
        "all-minilm-l6-v2",
        "universal-sentence-encoder",
    )


class CNNLSTMPaper(Paper):
    """Every experiment of Gan et al. 2017. ``vectors`` are those of +emb, and what the linear map starts from."""

    seeds: Seeds = (1,)
    ablation_seeds: Seeds = (1,)
    vectors: Vectors = Vectors(name="word2vec-300d-expanded")
    encoder: CNNEncoder = CNNEncoder()
    pretraining: GenerationTraining = GenerationTraining()
    hierarchical: GenerationTraining = GenerationTraining(model="hierarchical", batch_size=8)
    classification: tuple[Task, ...] = Field(TASKS, min_length=1)
    ranking: RankingTraining = RankingTraining()
    relatedness: Literal["sick", "miniworld"] = "sick"
    classifier: ClassifierTraining = ClassifierTraining()
    runs: int = Field(10, ge=1, description="of fine-tuning, each with another division of the sentences")
    shares: tuple[TrainingShare, ...] = Field((0.1, 0.25, 0.5, 0.75, 1.0), min_length=1)
    queries: int = Field(8, ge=1, description="sentences whose nearest one is shown")
    candidates: int = Field(1_000_000, ge=10, description="at most so many sentences to retrieve from")
    modern: tuple[Literal["all-minilm-l6-v2", "universal-sentence-encoder"], ...] = (
        "all-minilm-l6-v2",
        "universal-sentence-encoder",
    )


class CrossPaper(Paper):
    """Across the papers: every encoder in every setting on every data set, and one encoder under every protocol.

    Encoders, their pre-training and the grids of transfer are those of ``dnt`` and ``cnn_lstm`` in the same profile.
    """

    suite: Suite = "dnt"
    seeds: Seeds = (1,)
    ablation_seeds: Seeds = (1,)
    datasets: tuple[Dataset, ...] = Field((*TRANSFER, "msrp"), min_length=1)
    classification: tuple[Task, ...] = Field(("MR", "CR", "SUBJ", "MPQA", "TREC"), min_length=1)
    cnn_lstm: str = Field("autoencoder+emb.", description="which of the CNN-LSTM models")
    label_pairs: int = Field(
        10_000, ge=100, le=20_000, description="pairs of labelled sentences for direct transfer to a task"
    )
    timed: int = Field(2_000, ge=10, description="sentences whose encoding is timed")
    rounds: int = Field(3, ge=1, description="of timing")
    encoder: str = Field("BiLSTM-Avg", description="the encoder whose number is taken under every protocol")
    protocol_seeds: Seeds | None = Field(None, description="of that encoder; None: those that dnt trains it with")
    tokenisations: tuple[Tokenisation, ...] = Field(
        ("ptb", "ptb-cased", "words", "whitespace", "content", "stems"), min_length=1
    )
    modern: tuple[Literal["all-minilm-l6-v2", "universal-sentence-encoder"], ...] = (
        "all-minilm-l6-v2",
        "universal-sentence-encoder",
    )

    @field_validator("datasets")
    @classmethod
    def _scored(cls, datasets: tuple[str, ...]) -> tuple[str, ...]:
        if named := [name for name in datasets if name in label_pairs.TASK_OF]:
            raise ValueError(f"holds {named[0]}, whose sentences have classes; name its task under classification")
        if set(datasets) <= {"msrp", "miniworld-paraphrase"}:
            raise ValueError("holds no scored pairs; add sick, for example")
        return datasets

    @field_validator("classification")
    @classmethod
    def _of_single_sentences(cls, tasks: tuple[str, ...]) -> tuple[str, ...]:
        known = ", ".join(label_pairs.TASK_OF.values())
        if wrong := [name for name in tasks if name not in label_pairs.TASK_OF.values()]:
            raise ValueError(f"holds {wrong[0]}, which has no pairs of labelled sentences; choose among {known}")
        return tasks


PAPERS: dict[str, type[Paper]] = {
    "cse": CSEPaper,
    "cnn_lstm": CNNLSTMPaper,
    "wsv": WSVPaper,
    "dnt": DNTPaper,
    "cross": CrossPaper,
}
AnyConfig = TypeVar("AnyConfig", bound=BaseModel)


def digest(value: BaseModel | Mapping[str, Any] | list[Any]) -> str:
    """16 hexadecimal digits of the SHA-256 of the canonical JSON."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:16]


def parse(model: type[AnyConfig], values: Mapping[str, Any], where: str = "") -> AnyConfig:
    """``values`` as ``model``.

    Raises:
        ConfigError: the first fault, with the nearest known name for an unknown one.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ConfigError(_sentence(model, error, where)) from None


def _sentence(model: type[BaseModel], error: ValidationError, where: str) -> str:
    fault = error.errors()[0]
    location = [str(part) for part in fault["loc"]]
    name, place = ".".join(location), f" in {where}" if where else ""
    if fault["type"] != "extra_forbidden":
        # A section as a whole would be repeated at length.
        got = "" if isinstance(fault["input"], Mapping) else f" (got {fault['input']!r})"
        return f"Parameter '{name}'{place}: {fault['msg'].removeprefix('Value error, ')}{got}."
    known: dict[str, Any] = dict(model.model_fields)
    for part in location[:-1]:
        kind = known[part].annotation if part in known else None
        known = dict(getattr(kind, "model_fields", {}))
    near = difflib.get_close_matches(location[-1], list(known), n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"known names: {', '.join(sorted(known)) or 'none here'}."
    return f"Unknown parameter '{name}'{place}; {hint}"


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """``changes`` laid over ``base``, section by section; a list replaces a list."""
    result = dict(base)
    for name, value in changes.items():
        nested = isinstance(value, Mapping) and isinstance(result.get(name), Mapping)
        result[name] = merge(result[name], value) if nested else value
    return result


def profile_values(paper: str, profile: str) -> dict[str, Any]:
    """What ``params/<paper>/<profile>.yaml`` says.

    Raises:
        ConfigError: no such file, or not a YAML mapping.
    """
    path = root() / "params" / paper / f"{profile}.yaml"
    if not path.is_file():
        raise ConfigError(f"There is no profile '{profile}' of {paper}; choose one of {', '.join(PROFILES)}.")
    return read_yaml(path)


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping.

    Raises:
        ConfigError: the file does not exist, is not YAML, or is no mapping.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}); check the name.") from None
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", -1) + 1
        raise ConfigError(f"{path} is not valid YAML near line {line}; mend that line.") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path} must be a mapping of parameter names to values.")
    return values


def settings_class(paper: str) -> type[Paper]:
    """Find the class that holds a paper's settings.

    Raises:
        ConfigError: no such paper.
    """
    if paper not in PAPERS:
        raise ConfigError(f"Unknown paper '{paper}'; choose one of {', '.join(PAPERS)}.")
    return PAPERS[paper]


@overload
def load(paper: Literal["cse"], changes: Mapping[str, Any]) -> CSEPaper: ...
@overload
def load(paper: Literal["cnn_lstm"], changes: Mapping[str, Any]) -> CNNLSTMPaper: ...
@overload
def load(paper: Literal["wsv"], changes: Mapping[str, Any]) -> WSVPaper: ...
@overload
def load(paper: Literal["dnt"], changes: Mapping[str, Any]) -> DNTPaper: ...
@overload
def load(paper: Literal["cross"], changes: Mapping[str, Any]) -> CrossPaper: ...
@overload
def load(paper: str, changes: Mapping[str, Any]) -> Paper: ...
def load(paper: str, changes: Mapping[str, Any]) -> Paper:
    """The configuration of a run: typed defaults, then the profile's file, then ``changes``.

    Args:
        paper: ``cse``, ``cnn_lstm``, ``wsv``, ``dnt`` or ``cross``.
        changes: parameters by name; None and empty sections mean "as the profile has it".

    Raises:
        ConfigError: unknown paper or profile, or the first faulty parameter.
    """
    settings = settings_class(paper)
    given = {name: value for name, value in changes.items() if value is not None}
    profile = given.get("profile", "demo")
    # A section that is given in part keeps the paper's other values, not those of the section's class.
    values = merge(settings().model_dump(), merge(profile_values(paper, str(profile)), given))
    return parse(settings, values, f"{paper}, profile {profile}")


@overload
def from_notebook(paper: Literal["cse"], namespace: Mapping[str, Any]) -> CSEPaper: ...
@overload
def from_notebook(paper: Literal["cnn_lstm"], namespace: Mapping[str, Any]) -> CNNLSTMPaper: ...
@overload
def from_notebook(paper: Literal["wsv"], namespace: Mapping[str, Any]) -> WSVPaper: ...
@overload
def from_notebook(paper: Literal["dnt"], namespace: Mapping[str, Any]) -> DNTPaper: ...
@overload
def from_notebook(paper: Literal["cross"], namespace: Mapping[str, Any]) -> CrossPaper: ...
def from_notebook(paper: str, namespace: Mapping[str, Any]) -> Paper:
    """Read the configuration from a notebook's variables: pass ``globals()`` right after the parameters cell.

    A parameter is a name that the parameters cell assigns (the last one run that assigns ``profile``) or that papermill
    injected after it; any such name that does not exist stops the notebook with one sentence. Its value is the one that
    the variable holds now, so that it may be changed in any cell. All other variables are the reader's own: one of
    them counts where it is spelt as a parameter and holds a valid value for it, and is left alone else. Hence a
    notebook runs again in the same kernel, in part or out of order.

    Raises:
        ConfigError: see `load`; or a parameter of the cell has been overwritten with something else.
    """
    fields = settings_class(paper).model_fields
    listed = _assigned_parameters(namespace.get("In", ()))
    unknown = {name: namespace.get(name) for name in listed if name not in fields}
    values = {name: namespace[name] for name in listed if name in namespace and name in fields}
    for name, value in values.items():
        if not _is_plain(value):
            kind = type(value).__name__
            raise ConfigError(
                f"The parameter '{name}' now holds a {kind}; run the parameters cell again, and give your own variable "
                "another name."
            )
    own = {name: namespace[name] for name in fields if name in namespace and name not in listed}
    for name, value in own.items():
        if _is_plain(value) and _is_valid(paper, values | {name: value}):
            values[name] = value
    return load(paper, {**values, **unknown})


def _is_valid(paper: str, changes: Mapping[str, Any]) -> bool:
    try:
        load(paper, changes)
    except ConfigError:
        return False
    return True


def _is_plain(value: Any) -> bool:
    """Tell whether ``value`` is what YAML can hold: text, numbers, None, and lists and mappings of these."""
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _is_plain(part) for name, part in value.items())
    if isinstance(value, list | tuple):
        return all(_is_plain(part) for part in value)
    return value is None or isinstance(value, str | int | float)


def _assigned_parameters(cells: Sequence[str]) -> list[str]:
    """List the names that the last parameters cell among ``cells`` (IPython's history) assigns, and injected ones.

    papermill puts what it is given into a cell of its own after the parameters cell, under the comment "Parameters".
    """
    names: dict[str, None] = {}
    for cell in reversed(cells):
        assigned = _assigned(cell)
        injected = cell.lstrip().startswith("# Parameters")
        if injected or "profile" in assigned:
            names |= dict.fromkeys(assigned)
        if "profile" in assigned and not injected:
            break
    return list(names)


def _assigned(cell: str) -> list[str]:
    """List the names that the top level of a cell's source assigns."""
    try:
        statements = ast.parse(cell).body
    except SyntaxError:  # a magic command
        return []
    targets = [target for statement in statements if isinstance(statement, ast.Assign) for target in statement.targets]
    targets += [statement.target for statement in statements if isinstance(statement, ast.AnnAssign)]
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def is_recorded(paper: str, config: Paper) -> bool:
    """Whether ``config`` is the profile as its file has it, so that its run is recorded under the profile's name."""
    same = load(paper, {"profile": config.profile, "device": config.device, "jobs": config.jobs})
    return digest(same) == digest(config)
