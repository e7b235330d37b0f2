"""Settings of every way to train an encoder, and what the experiments of every paper have.

Field names and defaults are part of a trained encoder's key.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from sentbook.config import Coefficient, Profile, Rate, Section, Seeds, Share, TrainingShare
from sentbook.data import published, sources
from sentbook.data.novels import PARAGRAPH, WORDS
from sentbook.data.prose import Layout
from sentbook.data.splits import share_of
from sentbook.data.suites import Dataset, Suite, excluded, pairs, validation_sets
from sentbook.data.text import Tokenisation
from sentbook.data.types import LabelledPairs, ParaphrasePairs, ScoredPairs
from sentbook.data.vectors import Vectors
from sentbook.models.decoders import DecoderOptions
from sentbook.models.encoder_decoder import Kind
from sentbook.models.losses.margin import Candidates, Selection
from sentbook.models.losses.similarity import Falling, PairScore, ScoreLoss

if TYPE_CHECKING:
    from sentbook.training.problem import Problem, Start

Per = Literal["token", "sentence"]


class Training(Section):
    """What every training has; see `sentbook.training.loop.fit`."""

    epochs: int = Field(10, ge=1)
    batch_size: int = Field(100, ge=2)
    optimiser: Literal["adam", "sgd"] = "adam"
    learning_rate: Rate = 1e-3
    composition_rate: Rate | None = Field(
        None,
        description="learning rate of the encoder's parameters but its word vectors; None: learning_rate",
        exclude_if=lambda rate: rate is None,  # keys and records of trainings without it are those from before it
    )
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
    keep_checks: bool = Field(
        False,
        description="store the encoder of every check, not the best one's alone",
        exclude_if=lambda keep: not keep,  # keys and records without it are those from before it was a setting
    )
    precision: Literal["float32", "bf16"] = "float32"
    # One pass of Adam over a parameter in place of ten, where millions of them move at each step; it rounds otherwise.
    # On CUDA it is so always.
    fused: ClassVar[bool] = False

    def rate_after(self, rate: float, *, improved: bool) -> float:
        """The learning rate after a check of the validation metric."""
        return rate


class Stage(Training):
    """A training that a recipe may hold: it says itself what it reads and which problem it makes.

    Modules that a method needs are imported by it, so that an artifact names the code of its own stages alone.
    """

    begins: ClassVar[bool] = False  # whether it learns words of its own, so that no stage can stand before it

    def problem(self, start: Start) -> Problem:
        """Make the problem that trains an encoder.

        Raises:
            DataError: a file is missing or damaged.
        """
        raise NotImplementedError

    def texts(self) -> tuple[str, ...]:
        """Name the corpora that are no scored pairs."""
        return ()

    def datasets(self) -> tuple[str, ...]:
        """Name the data sets of scored pairs."""
        return ()

    def new_words_of(self) -> tuple[str, ...]:
        """Name the data sets whose words without a vector get one of their own."""
        return ()

    def digests(self) -> dict[str, str]:
        """Digest what a user may change without changing its name, such as originals, for the key."""
        return published.digests(*self.texts())

    def check(self) -> None:
        """Look for its corpora."""
        from sentbook.data.corpora import CORPORA

        self.digests()
        self.own_file()
        for file in (file for name in self.texts() if name in CORPORA for file in CORPORA[name].files):
            sources.path(file)

    def own_file(self) -> dict[str, str]:
        """Digest the file that ``path`` names, in whose place it stands in the key."""
        return {}

    def sentences(self, seed: int, suite: Suite) -> Iterable[str]:
        """Return every sentence of its corpora that a training by this seed may draw."""
        return ()

    def summary(self) -> str:
        """Say in words what it trains on."""
        raise NotImplementedError


class MarginTraining(Stage):
    """Training on paraphrase pairs, equation 5 of Jiao et al."""

    corpora: tuple[str, ...] = Field(("ppdb",), min_length=1)
    path: str = Field(
        "",
        description="of pairs with a tab between, plain or as .gz, with corpora: [file]",
        exclude_if=lambda path: not path,  # as keep_checks
    )
    limit: int | None = Field(None, ge=4, description="at most so many pairs, drawn by the seed")
    exclude_overlap: bool = Field(True, description="drop pairs that hold a sentence of a test set")
    margin: float = Field(0.6, ge=0, le=2)
    selection: Selection = "max"
    candidates: Candidates = "one side"
    scramble: Share = Field(0.0, description="probability of permuting the words of a pair (the released code: .5)")
    validation: Literal["sts2016", "stsb-dev", "miniworld"] = "sts2016"

    @model_validator(mode="after")
    def _has_its_file(self) -> MarginTraining:
        if ("file" in self.corpora) != bool(self.path):
            raise ValueError("corpora 'file' and the path of a file of pairs go together")
        return self

    def own_file(self) -> dict[str, str]:
        return {"path": sources.file_digest(published.own_pairs(self.path))} if "file" in self.corpora else {}

    def problem(self, start: Start) -> Problem:
        from sentbook.training.problems.paraphrase import prepare

        pairs = self._pairs(start.seed, start.suite)
        validation = validation_sets(self.validation)
        return prepare(start.encoder, start.vocabulary, pairs, self, validation, start.tokenisation)

    def _pairs(self, seed: int, suite: Suite) -> ParaphrasePairs:
        from sentbook.data import corpora

        exclude = excluded(suite) if self.exclude_overlap else frozenset()
        return corpora.load(self.corpora, seed=seed, limit=self.limit, exclude=exclude, path=self.path)

    def texts(self) -> tuple[str, ...]:
        return self.corpora

    def sentences(self, seed: int, suite: Suite) -> Iterable[str]:
        pairs = self._pairs(seed, suite)
        return (*pairs.first, *pairs.second)

    def summary(self) -> str:
        return f"paraphrase pairs ({', '.join(self.corpora)}), margin {self.margin}"


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
    error: Literal["squared", "absolute"] | None = Field(
        None,
        description="of the expected score, in place of the divergence",
        exclude_if=lambda error: error is None,  # keys and records without it are those from before it was a setting
    )


class SimilarityTraining(Stage):
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

    def problem(self, start: Start) -> Problem:
        from sentbook.training.problems.similarity import SimilarityProblem

        splits = _splits(self.dataset, self._share, start.seed)
        return SimilarityProblem(start.encoder, start.vocabulary, self, splits, start.tokenisation)

    @property
    def _share(self) -> float | None:
        return None

    def datasets(self) -> tuple[str, ...]:
        return (self.dataset,)

    def new_words_of(self) -> tuple[str, ...]:
        return (self.dataset,) if self.new_words == "random" else ()

    def summary(self) -> str:
        return f"scored pairs ({self.dataset}), by the {self.score} of two vectors"


class DirectTransfer(SimilarityTraining):
    """Direct network transfer, equation 1 of Zhang et al.: the cosine towards the score on its scale's limits."""

    new_words: Literal["random", "shared"] = "shared"
    target: Literal["[0, 1]", "[-1, 1]"] = "[0, 1]"
    patience: int | None = Field(None, ge=1, description="checks without a better one after which training stops")
    share: TrainingShare = 1.0

    @property
    def _share(self) -> float | None:
        return self.share


class HeadTraining(Stage):
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
    rescale: bool = Field(
        False,
        description="divide vectors by the root mean square of the training sentences' before training",
        exclude_if=lambda rescale: not rescale,  # keys and records without it are those from before it was a setting
    )
    patience: int | None = Field(None, ge=1, description="checks without a better one after which training stops")
    share: TrainingShare = 1.0

    def problem(self, start: Start) -> Problem:
        from sentbook.training.problems.transfer import HeadProblem

        splits = _splits(self.dataset, self.share, start.seed)
        return HeadProblem(
            start.encoder,
            start.vocabulary,
            self,
            splits,
            seed=start.seed,
            tokenisation=start.tokenisation,
            vectors=start.frozen() if self.frozen else None,
        )

    def datasets(self) -> tuple[str, ...]:
        return (self.dataset,)

    def summary(self) -> str:
        trained = "alone, the encoder fixed" if self.frozen else "with the encoder"
        return f"scored pairs ({self.dataset}), by a classifier on two vectors, trained {trained}; it is not here"


class ClassifierTraining(Training):
    """An encoder and a softmax on top, trained together on a classification task: figure 3 of Gan et al. 2017."""

    batch_size: int = Field(50, ge=2)
    embedding_update: Literal["dense", "lazy", "frozen"] = "frozen"
    pull_back_words: Coefficient = 0.0
    checks_per_epoch: int = Field(1, ge=1, le=100)
    head_dropout: Share = Field(0.5, description="on the sentence vector")
    patience: int | None = Field(3, ge=1, description="checks without a better one after which training stops")


class EntailmentTraining(Stage):
    """InferSent's training on three-way inference, section 3.3 of Conneau et al. 2017.

    The learning rate falls by 1 % an epoch, and to a fifth after each epoch that is no better on the held-out pairs.
    """

    epochs: int = Field(20, ge=1)
    batch_size: int = Field(64, ge=2)
    optimiser: Literal["adam", "sgd"] = "sgd"
    learning_rate: Rate = 0.1
    embedding_update: Literal["dense", "lazy", "frozen"] = "frozen"
    pull_back_words: Coefficient = 0.0
    clip: Annotated[float, Field(gt=0)] | None = 5.0
    checks_per_epoch: int = Field(1, ge=1, le=1)
    corpus: Literal["nli", "all-nli", "miniworld-entailment"] = "nli"
    hidden: int = Field(512, ge=1, description="of both layers of the classifier")
    exclude_overlap: bool = Field(True, description="drop pairs that hold a sentence of a test set")
    decay: float = Field(0.99, gt=0, le=1)
    shrink: float = Field(5.0, ge=1)

    def rate_after(self, rate: float, *, improved: bool) -> float:
        return rate * self.decay / (1 if improved else self.shrink)

    def problem(self, start: Start) -> Problem:
        from sentbook.training.problems.entailment import EntailmentProblem

        train, held_out = self._pairs(start.suite)
        given = (start.encoder, start.vocabulary, self, train, held_out)
        return EntailmentProblem(*given, seed=start.seed, tokenisation=start.tokenisation)

    def _pairs(self, suite: Suite) -> tuple[LabelledPairs, LabelledPairs]:
        from sentbook.data import inference

        return inference.pool(self.corpus, exclude=excluded(suite) if self.exclude_overlap else frozenset())

    def texts(self) -> tuple[str, ...]:
        return (self.corpus,)

    def sentences(self, seed: int, suite: Suite) -> Iterable[str]:
        train, _ = self._pairs(suite)
        return (*train.first, *train.second)

    def summary(self) -> str:
        return f"three-way inference pairs ({self.corpus})"


class GenerationTraining(Stage, DecoderOptions):
    """Training by what decoders write, sections 2 and 4 of Gan et al. 2017.

    With ``embedding_update: frozen`` the words keep their pre-trained vectors (+emb); else they are learned from noise.
    """

    epochs: int = Field(8, ge=1)
    batch_size: int = Field(64, ge=2, description="sentences, or paragraphs of the hierarchical model (the paper: 8)")
    learning_rate: Rate = 2e-4
    begins: ClassVar[bool] = True
    fused: ClassVar[bool] = True
    embedding_update: Literal["dense", "frozen"] = "dense"  # type: ignore[assignment]
    pull_back_words: Coefficient = 0.0
    clip: Annotated[float, Field(gt=0)] | None = 5.0
    accumulate: int = Field(1, ge=1, le=1, description="parts of a batch: no choice any more, but part of keys")
    model: Kind = "autoencoder"
    corpus: Literal["novels", "bookcorpus", "folder", "miniworld-stories"] = "novels"
    path: str = Field("", description="of a folder of .txt books, with corpus: folder")
    layout: Layout = Field(
        "prose",
        description="of a folder's books: running text, or lines, each a sentence (BookCorpus)",
        exclude_if=lambda layout: layout == "prose",  # as keep_checks
    )
    books: int | None = Field(None, ge=2, description="the first so many books; None: all")
    limit: int | None = Field(None, ge=64, description="at most so many sentences in training, drawn by the seed")
    held_out: int | None = Field(None, ge=64, description="at most so many sentences for the held-out likelihood")
    vocabulary: int = Field(WORDS, ge=2, description="words that are learned and predicted")
    longest: int = Field(38, ge=1, description="longer sentences are left out")
    paragraph: int = Field(PARAGRAPH, ge=2, description="sentences of a paragraph")
    per: Per = "token"
    floor: Coefficient = Field(0.0, description="added to probabilities in training (the released code: 1e-6)")

    @model_validator(mode="after")
    def _has_its_folder(self) -> GenerationTraining:
        if (self.corpus == "folder") != bool(self.path):
            raise ValueError("corpus 'folder' and the path of a folder of .txt books go together")
        if self.layout == "lines" and not self.path:
            raise ValueError("layout 'lines' goes with corpus 'folder' and its path")
        return self

    def problem(self, start: Start) -> Problem:
        from sentbook.training import pretraining

        return pretraining.problem(start.encoder, self, pretraining.books(self, start.tokenisation), start.seed)

    def texts(self) -> tuple[str, ...]:
        return (self.corpus,)

    def check(self) -> None:
        """Look for its books."""
        from sentbook.training import pretraining

        pretraining.collection(self)

    def digests(self) -> dict[str, str]:
        from sentbook.training import pretraining

        return {"books_digest": found} if (found := pretraining.identity(self)) else {}

    def summary(self) -> str:
        learned = "learned" if self.embedding_update == "dense" else "fixed"
        return f"text ({self.corpus}) that decoders write, {self.model}; word vectors {learned}; no decoder is here"


AnyStage = MarginTraining | SimilarityTraining | DirectTransfer | HeadTraining | EntailmentTraining | GenerationTraining


def _splits(dataset: Dataset, share: float | None, seed: int) -> dict[str, ScoredPairs]:
    """Return the splits of a data set, of the training pairs a share that is drawn by the seed (None: all)."""
    splits = {split: pairs(dataset, split) for split in ("train", "trial", "test")}
    return splits if share is None else splits | {"train": share_of(splits["train"], share, seed)}


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
    pairs: int | None = Field(None, ge=2, description="at most so many training pairs while the grid is searched")
    beyond: int = Field(
        0, ge=0, description="steps beyond a best rate or batch at the edge", exclude_if=lambda steps: not steps
    )
    rescale: tuple[bool, ...] = Field(
        (), description="of heads: vectors as they are, or of size one", exclude_if=lambda values: not values
    )


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
