"""The mini-world: what is promised of its data, under any seed."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentbook.data.miniworld import World, images, lexicon, meaning, morphology, opinions, pairs, stories, tasks
from sentbook.data.miniworld.grammar import Speaker
from sentbook.data.miniworld.randomness import Dice, stable_hash
from sentbook.data.miniworld.scene import (
    CORPUS_CELLS,
    ROLES,
    SIMILARITY_CELLS,
    SPLIT_CELLS,
    Scene,
    cell,
    change,
    draw,
    swap,
)
from sentbook.data.text import tokenise_ptb
from sentbook.data.types import LabelledPairs
from sentbook.system.errors import ConfigError

SEEDS = st.integers(min_value=0, max_value=2**31)
SPLITS = ("train", "trial", "test")
quick = settings(max_examples=15, deadline=None)


def everything(world: World) -> dict[str, tuple]:
    """A little of each kind of data, as comparable values."""
    sets = {f"similarity/{name}": world.similarity(name, 20) for name in world.DOMAINS}
    sets |= {"phrases": world.phrases(20), "sentences": world.sentences(20), "relatedness": world.relatedness("trial")}
    sets |= {"paraphrase": world.paraphrase("trial"), "entailment": world.entailment("trial")}
    sets |= {name: world.classification(name, "trial") for name in world.TASKS}
    sets |= {"stories": world.stories(5), "scenes": world.scenes(5), "answers": world.graded_answers("trial")}
    found = {key: tuple(map(repr, vars(value).values())) for key, value in sets.items()}
    words, matrix = world.vectors(10)
    return found | {"vectors": (tuple(words), matrix.tobytes())}


def some_scene(seed: int) -> Scene:
    dice = Dice(seed, "test")
    return draw(dice.choose(pairs.domains()), dice, range(10))


# -- determinism ----------------------------------------------------------------------------------------------------


def test_one_seed_one_world_and_calls_do_not_disturb_each_other() -> None:
    world = World(3)
    world.sentences(7)
    first = everything(world)
    assert first == everything(World(3))


def test_seeds_differ_in_every_kind_of_data() -> None:
    one, other = everything(World(0)), everything(World(1))
    assert [key for key in one if one[key] == other[key]] == []


def test_a_longer_set_begins_with_the_shorter() -> None:
    world = World(5)
    assert world.sentences(30).first[:10] == world.sentences(10).first
    assert world.phrases(30).second[:10] == world.phrases(10).second
    assert world.similarity("sport", 30).first[:10] == world.similarity("sport", 10).first
    np.testing.assert_array_equal(world.scenes(6).features[:3], world.scenes(3).features)


def test_the_stream_is_pinned() -> None:
    """Recorded numbers of the demo hold for these data only: a change here asks for a new run of it."""
    world = World(0)
    assert stable_hash(*world.sentences(50).first) == 3170004535
    assert stable_hash(*world.phrases(50).second) == 2555411525


# -- meaning --------------------------------------------------------------------------------------------------------


@quick
@given(SEEDS)
def test_identical_scenes_are_at_the_top_and_gold_is_symmetric(seed: int) -> None:
    one, other = some_scene(seed), some_scene(seed + 1)
    assert meaning.similarity(one, one) == pytest.approx(1.0)
    assert meaning.on_scale(meaning.similarity(one, one), 0, 5) == 5.0
    assert meaning.on_scale(meaning.similarity(one, one), 1, 5) == 5.0
    value = meaning.similarity(one, other)
    assert value == meaning.similarity(other, one)
    assert 0 <= value <= 1


@quick
@given(SEEDS)
def test_the_more_roles_differ_the_lower(seed: int) -> None:
    dice, scene = Dice(seed, "roles"), some_scene(seed)
    while scene.patient is None:
        seed += 1
        scene = some_scene(seed)
    changed, last = scene, 1.0
    for role in ROLES[:5]:
        changed = change(changed, role, False, dice)
        value = meaning.similarity(scene, changed)
        assert value < last
        last = value
    assert meaning.similarity(scene, changed._replace(negated=not scene.negated)) < last


def test_near_concepts_are_nearer_than_far_ones_and_opposites_far() -> None:
    near = meaning.concept_similarity("noun:dog", "noun:cat")
    far = meaning.concept_similarity("noun:dog", "noun:farmer")
    assert 1 > near > far
    assert meaning.concept_similarity("verb:accept", "verb:reject") < near


def test_a_swap_is_another_meaning() -> None:
    dice = Dice(0, "swap")
    scene = draw(lexicon.domain("animals"), dice, range(10), negated=0)
    while swap(scene) is None:
        scene = draw(lexicon.domain("animals"), dice, range(10), negated=0)
    assert swap(swap(scene)) == scene
    assert meaning.similarity(scene, swap(scene)) < 0.85


def test_every_antonym_names_concepts() -> None:
    names = {name.partition(":")[2] for name in lexicon.paths()}
    from sentbook.data.miniworld import concepts

    assert {word for word in concepts.ANTONYMS.replace(",", " ").split() if word not in names} == set()


# -- pairs ----------------------------------------------------------------------------------------------------------


@quick
@given(SEEDS)
def test_paraphrases_share_the_scene_and_differ_in_words(seed: int) -> None:
    found = World(seed).said_sentences(30)
    assert all(pair.one == pair.other and pair.first != pair.second for pair in found)
    assert {cell(pair.one) for pair in found} <= CORPUS_CELLS


def test_phrases_are_short_and_differ() -> None:
    pairs_ = World(2).phrases(2000)
    lengths = [len(text.split()) for text in pairs_.first + pairs_.second]
    assert np.percentile(lengths, 90) <= 5
    assert max(lengths) <= 12
    assert all(one != two for one, two in zip(pairs_.first, pairs_.second, strict=True))
    assert set(pairs_.source) == {"miniworld-phrases"}


@pytest.mark.parametrize("domain", World.DOMAINS)
def test_similarity_covers_the_scale(domain: str) -> None:
    found = World(1).similarity(domain)
    assert (found.name, found.scale, len(found)) == (f"miniworld/{domain}", (0.0, 5.0), 250)
    assert found.gold.min() < 1.5
    assert found.gold.max() == 5
    assert 0.1 < np.mean(found.gold == 5) < 0.4
    assert 0.9 < found.gold.std() < 2


def test_words_and_meaning_are_crossed() -> None:
    """Both hard corners of the paper's error analysis are there: much overlap, other meaning, and the reverse."""
    found = World(0).similarity("animals", 500)
    shared = []
    for one, two in zip(found.first, found.second, strict=True):
        a, b = set(tokenise_ptb(one)), set(tokenise_ptb(two))
        shared.append(len(a & b) / len(a | b))
    overlap = np.asarray(shared)
    assert np.sum((overlap > 0.6) & (found.gold < 3.5)) >= 20
    assert np.sum((overlap < 0.3) & (found.gold > 4.5)) >= 20


def test_relatedness_has_the_splits_of_sick() -> None:
    world = World(0)
    sets = {split: world.relatedness(split) for split in SPLITS}
    assert [len(sets[split]) for split in SPLITS] == [450, 50, 500]
    for found in sets.values():
        assert found.scale == (1.0, 5.0)
        assert found.gold.min() >= 1
        assert found.gold.max() <= 5


# -- splits ---------------------------------------------------------------------------------------------------------


@settings(max_examples=4, deadline=None)
@given(SEEDS, SEEDS)
def test_no_sentence_of_a_test_stands_in_a_corpus_of_any_seed(seed: int, other: int) -> None:
    corpus = World(other).sentences(1500)
    known = {text.lower() for text in corpus.first + corpus.second}
    known |= {text.lower() for captions in World(other).scenes(200).captions for text in captions}
    world = World(seed)
    tests = [world.similarity(name, 50) for name in world.DOMAINS] + [world.relatedness("test")]
    assert not known & {text.lower() for found in tests for text in found.first + found.second}


def test_splits_of_pairs_share_no_sentence() -> None:
    world = World(4)
    for make in (world.relatedness, world.paraphrase, world.entailment):
        seen: set[str] = set()
        for split in SPLITS:
            found = make(split)
            # A hypothesis may generalise its premise's core, so entailment is kept apart by premises.
            sides = found.first if make == world.entailment else found.first + found.second
            assert not seen & set(sides)
            seen |= set(sides)


def test_cells_are_kept_apart() -> None:
    groups = [CORPUS_CELLS, SIMILARITY_CELLS, *SPLIT_CELLS.values()]
    assert sorted(number for group in groups for number in group) == list(range(10))


@pytest.mark.parametrize("task", World.TASKS)
def test_classification_is_balanced_and_its_splits_disjoint(task: str) -> None:
    world = World(0)
    sets = [world.classification(task, split) for split in SPLITS]
    assert [len(found) for found in sets] == [600, 100, 300]
    texts = [text.lower() for found in sets for text in found.sentences]
    assert len(set(texts)) == len(texts)
    for found in sets:
        counts = np.bincount(found.labels, minlength=len(found.classes))
        assert counts.max() - counts.min() <= 1
    assert len(sets[0].classes) == (6 if task == "question" else 2)


# -- classes and grades ---------------------------------------------------------------------------------------------


def test_paraphrase_and_entailment_classes() -> None:
    world = World(0)
    msrp: LabelledPairs = world.paraphrase("test")
    assert np.bincount(msrp.labels).tolist() == [200, 300]
    nli = world.entailment("train")
    assert nli.classes == ("entailment", "neutral", "contradiction")
    assert set(np.bincount(nli.labels)) == {150}


@quick
@given(SEEDS)
def test_labels_follow_from_the_scenes(seed: int) -> None:
    dice = Dice(seed, "labels")
    domain = dice.choose(pairs.domains())
    cells = SPLIT_CELLS["test"]
    different = tasks.paraphrase_or_not(domain, dice, cells, same=False)
    assert different.one != different.other
    same = tasks.paraphrase_or_not(domain, dice, cells, same=True)
    assert (same.one.agent.noun, same.one.verb) == (same.other.agent.noun, same.other.verb)
    follows = tasks.entailment(domain, dice, cells, "entailment")
    assert (follows.one.verb, follows.one.negated) == (follows.other.verb, follows.other.negated)
    against = tasks.entailment(domain, dice, cells, "contradiction")
    assert against.other.negated or against.one.verb != against.other.verb
    open_ = tasks.entailment(domain, dice, cells, "neutral")
    assert open_.one != open_.other


def test_answers_are_graded_by_what_they_say() -> None:
    found = World(0).graded_answers("test")
    assert (len(found), found.scale, len(set(found.question))) == (500, (0.0, 5.0), 50)
    assert set(Counter(found.question).values()) == {10}
    assert found.gold.max() == 5
    assert found.gold.min() < 2
    dice = Dice(0, "facts")
    facts, _, _ = tasks.question(lexicon.domain("kitchen"), dice, range(10))
    assert tasks.grade(facts, facts) == pytest.approx(1)
    assert tasks.grade(facts, facts[:1]) < 1
    trains = set(World(0).graded_answers("train").reference)
    assert not trains & set(found.reference)


# -- stories and pictures -------------------------------------------------------------------------------------------


def test_stories_keep_their_two_characters() -> None:
    dice = Dice(0, "a story")
    for name in tasks.STORY_DOMAINS:
        scenes, lines = stories.story(lexicon.domain(name), dice)
        assert 5 <= len(lines) <= 9
        assert len({scene.agent for scene in scenes}) <= 2
        assert len({scene.domain for scene in scenes}) == 1
    assert len(World(0).stories(12)) == 12


def test_stories_hold_no_core_of_a_test() -> None:
    dice = Dice(1, "stories")
    for name in tasks.STORY_DOMAINS:
        for _ in range(50):
            scenes, _ = stories.story(lexicon.domain(name), dice)
            assert {cell(scene) for scene in scenes} <= CORPUS_CELLS


def test_like_scenes_look_alike() -> None:
    found = World(0).scenes(40)
    assert found.features.shape == (40, 64)
    assert found.features.dtype == np.float32
    assert {len(captions) for captions in found.captions} == {5}
    scene, other = some_scene(1)._replace(domain="people"), some_scene(2)
    still = np.zeros(64)
    near = scene._replace(place=None)

    def cosine(a: Scene, b: Scene) -> float:
        x, y = images.features(a, still), images.features(b, still)
        return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))

    assert cosine(scene, near) > cosine(scene, other)


# -- words ----------------------------------------------------------------------------------------------------------


def test_vocabulary_and_vectors() -> None:
    world = World(0)
    words, matrix = world.vectors(50)
    assert len(words) == len(set(words))
    assert matrix.shape == (len(words), 50)
    assert matrix.dtype == np.float32
    assert np.isfinite(matrix).all()
    assert 1500 < len(words) < 2200
    assert {"the", "not", "n't", "by", "hot", "dog"} <= set(words[: len(words)])
    used = Counter(token for text in world.sentences(4000).first for token in tokenise_ptb(text))
    unknown = set(used) - set(words)
    assert 3 <= len(unknown) < 40
    assert sum(used[word] for word in unknown) / used.total() < 0.03
    others = {
        token
        for name in world.TASKS
        for text in world.classification(name, "test").sentences
        for token in tokenise_ptb(text)
    }
    assert len(others - set(words)) < 40


def test_opposites_and_neighbours_are_confused_yet_synonyms_are_nearer() -> None:
    words, matrix = World(0).vectors(50)
    at = {word: index for index, word in enumerate(words)}

    def cosine(a: str, b: str) -> float:
        x, y = matrix[at[a]], matrix[at[b]]
        return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))

    synonyms = [("chef", "cook"), ("doctor", "physician"), ("wealthy", "rich"), ("boy", "lad"), ("lamp", "light")]
    opposites = [("accept", "reject"), ("happy", "sad"), ("rich", "poor"), ("hire", "sack"), ("rise", "slump")]
    strangers = [("doctor", "onion"), ("cook", "goalie"), ("rich", "platform"), ("boy", "levy"), ("lamp", "senator")]
    means = [np.mean([cosine(*pair) for pair in group]) for group in (synonyms, opposites, strangers)]
    assert means[0] > means[2] + 0.3
    assert means[1] > means[2] + 0.15


def test_averages_of_these_vectors_beat_random_ones() -> None:
    world = World(0)
    words, matrix = world.vectors(50)
    random = np.random.default_rng(0).normal(size=matrix.shape)
    at = {word: index for index, word in enumerate(words)}

    def pearson(vectors: np.ndarray, domain: str) -> float:
        found = world.similarity(domain)
        sides = [
            np.asarray([np.mean([vectors[at[t]] for t in tokenise_ptb(text) if t in at], axis=0) for text in side])
            for side in (found.first, found.second)
        ]
        norms = np.prod([np.linalg.norm(side, axis=1) for side in sides], axis=0)
        return float(np.corrcoef((sides[0] * sides[1]).sum(axis=1) / norms, found.gold)[0, 1])

    informed = np.mean([pearson(matrix, name) for name in world.DOMAINS])
    blind = np.mean([pearson(random, name) for name in world.DOMAINS])
    assert 0.25 < informed < 0.6
    assert informed > blind + 0.1


def test_inflection() -> None:
    form = lexicon.verb_form("turn ~ down")
    assert (form.third, form.past, form.gerund, form.before, form.after) == ("turns", "turned", "turning", "", " down")
    assert lexicon.verb_form("take to its heels").past == "took"
    assert [morphology.plural(word) for word in ("hot dog", "man at the wheel", "party", "knife", "lass")] == [
        "hot dogs",
        "men at the wheel",
        "parties",
        "knives",
        "lasses",
    ]
    assert [morphology.gerund(word) for word in ("lie", "flee", "chase", "stop", "frolic", "try")] == [
        "lying",
        "fleeing",
        "chasing",
        "stopping",
        "frolicking",
        "trying",
    ]
    assert [morphology.past(word)[0] for word in ("try", "play", "stun", "frolic")] == [
        "tried",
        "played",
        "stunned",
        "frolicked",
    ]
    assert [morphology.article(word) for word in ("owl", "union", "dog", "ewe")] == ["an", "a", "a", "a"]


@quick
@given(SEEDS)
def test_sentences_are_well_formed(seed: int) -> None:
    text = Speaker(Dice(seed, "say")).say(some_scene(seed))
    assert text == opinions.clean(text)
    assert text == text.strip()
    assert "~" not in text
    assert tokenise_ptb(text)


# -- cost and mistakes ----------------------------------------------------------------------------------------------


def test_quick_enough_for_the_demo() -> None:
    World(0).sentences(10)
    started = time.process_time()
    World(0).sentences(20_000)
    assert time.process_time() - started < 2


def test_mistakes_are_named() -> None:
    world = World()
    with pytest.raises(ConfigError, match="no domain 'poetry'; choose one of people"):
        world.similarity("poetry")
    with pytest.raises(ConfigError, match="no split 'dev'"):
        world.relatedness("dev")
    with pytest.raises(ConfigError, match="no task 'irony'"):
        world.classification("irony", "test")
