"""Published layouts: encodings equal torch's LSTM or a loop in the layout's own terms; nothing in a file is run."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sentbook.models import published
from sentbook.models.build import embedding_matrix
from sentbook.models.published import BILSTM_AVERAGE, GRAN_GATED, PeepholeLSTM, bilstm_average, gran, infersent
from sentbook.system.errors import CheckpointError, DataError

WORDS, DEPTH, HIDDEN = 12, 4, 3
GATES = ("ingate", "forgetgate", "cell", "outgate")
IDS, LENGTHS = torch.tensor([[2, 5, 3, 7], [4, 0, 0, 0], [9, 1, 6, 0]]), torch.tensor([4, 1, 3])

Arrays = dict[str, NDArray[np.float64]]


def weight() -> Tensor:
    table = torch.randn(WORDS, DEPTH, generator=torch.Generator().manual_seed(0))
    table[0] = 0
    return table


class Network(nn.Module):
    """The parameters of the released inference network."""

    def __init__(self) -> None:
        super().__init__()
        self.enc_lstm = nn.LSTM(DEPTH, HIDDEN, bidirectional=True)


class Whole(nn.Module):
    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.classifier = nn.Sequential(nn.Linear(8 * HIDDEN, 2))


def released() -> Network:
    torch.manual_seed(1)
    return Network()


def by_torch(lstm: nn.LSTM) -> Tensor:
    """The maximum over the states of each sentence alone, no padding anywhere."""
    alone = [lstm(weight()[row[:length]].unsqueeze(1))[0] for row, length in zip(IDS, LENGTHS, strict=True)]
    return torch.cat([states.amax(dim=0) for states in alone])


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("whole", [True, False])
def test_infersent_equals_torchs_lstm(tmp_path: Path, zipped: bool, whole: bool) -> None:
    network = released()
    state = (Whole(network) if whole else network).state_dict()
    torch.save(state, tmp_path / "infersent1.pkl", _use_new_zipfile_serialization=zipped)
    drawn = torch.get_rng_state()
    encoder = infersent(tmp_path / "infersent1.pkl", weight())
    assert torch.equal(torch.get_rng_state(), drawn)
    torch.testing.assert_close(encoder(IDS, LENGTHS), by_torch(network.enc_lstm), atol=1e-6, rtol=1e-5)
    assert (encoder.dimension, encoder.pool, encoder.batch_dependent) == (2 * HIDDEN, "max", False)


def test_infersent_as_first_released_takes_the_maximum_over_padding(tmp_path: Path) -> None:
    network = released()
    torch.save(network.state_dict(), tmp_path / "infersent1.pkl")
    found = infersent(tmp_path / "infersent1.pkl", weight(), padding="zeros")(IDS, LENGTHS)
    expected = by_torch(network.enc_lstm)
    expected[1:] = expected[1:].clamp(min=0)  # the first sentence is the longest
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)


class Trap:
    """Unpickled, it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.mkdir, (self.folder,)


@pytest.mark.parametrize("read", [infersent, bilstm_average, gran])
def test_a_program_in_a_file_is_not_run(tmp_path: Path, read: Callable[[Path, Tensor], object]) -> None:
    sprung = tmp_path / "sprung"
    (tmp_path / "plain.pkl").write_bytes(pickle.dumps([Trap(sprung)], protocol=2))
    torch.save({"enc_lstm": Trap(sprung)}, tmp_path / "torch.pkl")
    np.savez(tmp_path / "arrays.npz", **{"forward.b_cell": np.array([Trap(sprung)], dtype=object)})
    for name in ("plain.pkl", "torch.pkl", "arrays.npz"):
        with pytest.raises((DataError, CheckpointError), match=name):
            read(tmp_path / name, weight())
    assert not sprung.exists()


def test_a_whole_pickled_model_says_how_to_convert_it(tmp_path: Path) -> None:
    torch.save(nn.LSTM(2, 2), tmp_path / "infersent.allnli.pickle")
    with pytest.raises(DataError, match=r"save its state_dict\(\)"):
        infersent(tmp_path / "infersent.allnli.pickle", weight())


@pytest.mark.parametrize("content", ["half", "page", "nothing", "absent"])
@pytest.mark.parametrize("layout", ["zip", "legacy", "npz"])
def test_damaged_files(tmp_path: Path, content: str, layout: str) -> None:
    path = tmp_path / "file"
    if layout == "npz":
        with path.open("wb") as file:
            np.savez(file, **lasagne(BILSTM_AVERAGE))
    else:
        torch.save(released().state_dict(), path, _use_new_zipfile_serialization=layout == "zip")
    whole = path.read_bytes()
    path.write_bytes({"half": whole[: len(whole) // 2], "page": b"<html>Not found</html>"}.get(content, b""))
    if content == "absent":
        path.unlink()
    for read in (bilstm_average, gran) if layout == "npz" else (infersent,):
        with pytest.raises(DataError, match="missing" if content == "absent" else "fetch it again|file again|convert"):
            read(path, weight())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"enc_lstm.bias_hh_l0": None}, "lacks bias_hh_l0;"),
        ({"enc_lstm.weight_hh_l0": None}, "no recurrent weights"),
        ({"enc_lstm.weight_hh_l0": torch.zeros(4 * HIDDEN, HIDDEN + 1)}, r"\(12, 4\) as recurrent weights"),
        ({"enc_lstm.weight_ih_l0": torch.zeros(4 * HIDDEN, 9)}, r"\(12, 9\), not \(12, 4\); give word vectors"),
        ({"proj_enc.weight": torch.zeros(2, 2)}, r"unknown proj_enc\.weight;"),
        ({f"enc_lstm.{name}_l1": torch.zeros(2) for name in "abcd"}, "a_l1, b_l1, c_l1 and 1 more;"),
        ({"version": 1}, "no state dictionary"),
    ],
)
def test_other_torch_files_are_refused(tmp_path: Path, change: dict[str, object], said: str) -> None:
    state = {name: value for name, value in ({**released().state_dict()} | change).items() if value is not None}
    torch.save(state, tmp_path / "other.pkl")
    with pytest.raises(CheckpointError, match=said):
        infersent(tmp_path / "other.pkl", weight())


def lasagne(names: tuple[str, ...], peepholes: bool = True, depth: int = DEPTH, hidden: int = HIDDEN) -> Arrays:
    """Arrays of the shapes that Lasagne's layers have: inputs first, one gate an array, initial states (1, h)."""
    draw = np.random.default_rng(2)
    out = depth if "W_avg1" in names else hidden
    shapes = {"W_avg1": (depth, out), "W_avg2": (hidden, out), "b_avg": (out,), "avg_init": (1, out)}
    found: Arrays = {"embedding": draw.normal(size=(WORDS - 2, depth))}
    for name in names[1:]:
        kind = name.split(".")[-1]
        if kind.startswith("W_in_to"):
            shape: tuple[int, ...] = (depth, hidden)
        elif kind.startswith("W_hid_to"):
            shape = (hidden, hidden)
        else:
            shape = shapes.get(kind, (1, hidden) if kind.endswith("init") else (hidden,))
        initial = kind.endswith("init") or (kind.startswith("W_cell") and not peepholes)
        found[name] = np.zeros(shape) if initial else draw.normal(size=shape)
    return found


def sigmoid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-values))


def states(arrays: Arrays, prefix: str, words: NDArray[np.float64]) -> NDArray[np.float64]:
    """The layer over one sentence, a word at a time, as Lasagne's documentation writes it."""
    own = {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
    hidden, cell, found = np.zeros(HIDDEN), np.zeros(HIDDEN), []
    for word in words:
        sums = {
            gate: word @ own[f"W_in_to_{gate}"] + hidden @ own[f"W_hid_to_{gate}"] + own[f"b_{gate}"] for gate in GATES
        }
        forget = sigmoid(sums["forgetgate"] + own["W_cell_to_forgetgate"] * cell)
        enter = sigmoid(sums["ingate"] + own["W_cell_to_ingate"] * cell)
        cell = forget * cell + enter * np.tanh(sums["cell"])
        hidden = sigmoid(sums["outgate"] + own["W_cell_to_outgate"] * cell) * np.tanh(cell)
        found.append(hidden)
    return np.array(found)


def sentences() -> list[NDArray[np.float64]]:
    return [weight()[row[:length]].double().numpy() for row, length in zip(IDS, LENGTHS, strict=True)]


@pytest.mark.parametrize("peepholes", [True, False])
def test_bilstm_average_equals_a_loop_over_words(tmp_path: Path, peepholes: bool) -> None:
    arrays = lasagne(BILSTM_AVERAGE, peepholes)
    np.savez(tmp_path / "bilstm.npz", **arrays)
    encoder = bilstm_average(tmp_path / "bilstm.npz", weight())
    expected = [
        np.r_[states(arrays, "forward.", words).mean(axis=0), states(arrays, "backward.", words[::-1]).mean(axis=0)]
        for words in sentences()
    ]
    np.testing.assert_allclose(encoder(IDS, LENGTHS).detach().numpy(), expected, atol=1e-6)
    assert isinstance(encoder.lstm, PeepholeLSTM) == peepholes
    plain = 2 * 4 * HIDDEN * (DEPTH + HIDDEN + 2)
    assert encoder.parameter_count() == plain + (2 * 3 * HIDDEN if peepholes else 0)


def test_without_peepholes_it_is_torchs_bidirectional_lstm(tmp_path: Path) -> None:
    arrays = {
        name: value for name, value in lasagne(BILSTM_AVERAGE).items() if "W_cell" not in name and "init" not in name
    }
    np.savez(tmp_path / "bilstm.npz", **arrays)
    lstm = nn.LSTM(DEPTH, HIDDEN, bidirectional=True)
    for direction, suffix in (("forward", ""), ("backward", "_reverse")):
        for part, name in (("W_in_to", "weight_ih"), ("W_hid_to", "weight_hh"), ("b", "bias_ih")):
            gates = np.concatenate([arrays[f"{direction}.{part}_{gate}"].T for gate in GATES])
            getattr(lstm, f"{name}_l0{suffix}").data = torch.from_numpy(gates).float()
        getattr(lstm, f"bias_hh_l0{suffix}").data.zero_()
    alone = [lstm(torch.from_numpy(words).float().unsqueeze(1))[0].mean(dim=0) for words in sentences()]
    found = bilstm_average(tmp_path / "bilstm.npz", weight())(IDS, LENGTHS)
    torch.testing.assert_close(found, torch.cat(alone), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("peepholes", [True, False])
def test_gran_equals_a_loop_over_words(tmp_path: Path, peepholes: bool) -> None:
    arrays = lasagne(GRAN_GATED, peepholes)
    np.savez(tmp_path / "gran.npz", **arrays)
    encoder = gran(tmp_path / "gran.npz", weight())
    expected = [
        (
            words
            * sigmoid(words @ arrays["W_avg1"] + states(arrays, "forward.", words) @ arrays["W_avg2"] + arrays["b_avg"])
        ).mean(axis=0)
        for words in sentences()
    ]
    np.testing.assert_allclose(encoder(IDS, LENGTHS).detach().numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_peepholes_of_zero_are_torchs_lstm(bidirectional: bool) -> None:
    torch.manual_seed(3)
    own = PeepholeLSTM(DEPTH, HIDDEN, bidirectional=bidirectional)
    plain = nn.LSTM(DEPTH, HIDDEN, batch_first=True, bidirectional=bidirectional)
    plain.load_state_dict({name: value for name, value in own.state_dict().items() if not name.startswith("peephole")})
    packed = nn.utils.rnn.pack_padded_sequence(weight()[IDS], LENGTHS, batch_first=True, enforce_sorted=False)
    torch.testing.assert_close(own(packed)[0].data, plain(packed)[0].data, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(("read", "names"), [(bilstm_average, BILSTM_AVERAGE), (gran, GRAN_GATED)])
def test_what_is_read_trains_and_is_copied(
    tmp_path: Path, read: Callable[[Path, Tensor], nn.Module], names: tuple[str, ...]
) -> None:
    np.savez(tmp_path / "weights.npz", **lasagne(names))
    encoder = read(tmp_path / "weights.npz", weight())
    twin = copy.deepcopy(encoder)
    encoder(IDS, LENGTHS).square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in encoder.parameters())
    assert torch.equal(encoder(IDS, LENGTHS), twin(IDS, LENGTHS))


@pytest.mark.parametrize(
    ("read", "change", "said"),
    [
        (bilstm_average, {"backward.b_cell": None}, r"lacks backward\.b_cell;"),
        (gran, {"W_avg1": None}, "lacks W_avg1;"),
        (gran, {"W_avg12": np.zeros((DEPTH, DEPTH))}, "unknown W_avg12;"),
        (gran, {"W_avg2": np.zeros((HIDDEN + 1, DEPTH))}, r"weight of shape \(4, 8\), not \(4, 7\)"),
        (bilstm_average, {"forward.W_cell_to_outgate": None}, r"peephole_l0 of shape \(6,\), not \(9,\)"),
        (bilstm_average, {"forward.W_in_to_cell": np.zeros((DEPTH + 1, HIDDEN))}, r"\(5, 3\).*do not fit"),
        (bilstm_average, {"forward.hid_init": np.ones((1, HIDDEN))}, "initial states"),
        (bilstm_average, {f"forward.W_hid_to_{gate}": np.zeros((2, 2)) for gate in GATES}, r"\(12,\)|not \(8, 4\)"),
        (bilstm_average, {"forward.b_cell": np.array(["a", "b", "c"])}, "do not fit"),
    ],
)
def test_other_arrays_are_refused(
    tmp_path: Path, read: Callable[[Path, Tensor], object], change: dict[str, object], said: str
) -> None:
    arrays = lasagne(GRAN_GATED if read is gran else BILSTM_AVERAGE)
    np.savez(tmp_path / "other.npz", **{name: value for name, value in (arrays | change).items() if value is not None})
    with pytest.raises(CheckpointError, match=said):
        read(tmp_path / "other.npz", weight())


def test_word_vectors_of_another_dimension_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "weights.npz", **lasagne(BILSTM_AVERAGE))
    with pytest.raises(CheckpointError, match="give word vectors of the dimension"):
        bilstm_average(tmp_path / "weights.npz", torch.zeros(WORDS, DEPTH + 1))


def test_the_word_vectors_of_a_file_fit_its_encoder(tmp_path: Path) -> None:
    arrays, words = lasagne(GRAN_GATED), [*"abcdefghi", "UUUNKKK"]
    np.savez(tmp_path / "gran.npz", words=words, **arrays)
    vectors = published.word_vectors(tmp_path / "gran.npz")
    assert vectors.words == words
    table = embedding_matrix(vectors)
    assert torch.equal(table[1], table[-1])  # unknown words have the file's own vector
    np.testing.assert_array_equal(table[2:].numpy(), arrays["embedding"].astype(np.float32))
    assert gran(tmp_path / "gran.npz", table).embedding.weight.shape == (WORDS, DEPTH)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"words": None}, "lacks words;"),
        ({"words": np.array(["a", "b"])}, "one word a row"),
        ({"embedding": np.full((3, 2), "x")}, "one word a row"),
    ],
)
def test_word_vectors_that_do_not_fit_their_words(tmp_path: Path, change: dict[str, object], said: str) -> None:
    arrays: dict[str, object] = {"words": np.array(["a", "b", "c"]), "embedding": np.zeros((3, 2))} | change
    np.savez(tmp_path / "words.npz", **{name: value for name, value in arrays.items() if value is not None})
    with pytest.raises(CheckpointError, match=said):
        published.word_vectors(tmp_path / "words.npz")


def test_a_pickle_in_lasagnes_order_converts_as_documented(tmp_path: Path) -> None:
    arrays, places = lasagne(BILSTM_AVERAGE), {word: row for row, word in enumerate("abcdefghij")}
    values = pickle.loads(pickle.dumps([*arrays.values(), places], protocol=2))
    words = values.pop()
    np.savez(
        tmp_path / "bilstm.npz",
        words=sorted(words, key=words.get),
        **dict(zip(BILSTM_AVERAGE, values, strict=True)),
    )
    assert published.word_vectors(tmp_path / "bilstm.npz").words == list("abcdefghij")
    assert bilstm_average(tmp_path / "bilstm.npz", weight()).dimension == 2 * HIDDEN


def test_the_names_count_the_arrays_of_the_published_pickles() -> None:
    # A Lasagne LSTM has 15 arrays and two initial states; the gate of GRAN three and one.
    assert (len(BILSTM_AVERAGE), len(GRAN_GATED)) == (1 + 2 * 17, 1 + 17 + 4)
    assert len({*BILSTM_AVERAGE}) == len(BILSTM_AVERAGE)
    assert len({*GRAN_GATED}) == len(GRAN_GATED)
