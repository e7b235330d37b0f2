r"""Published weights of InferSent, BiLSTM-Avg and GRAN, for those who own the files; nothing in a file is executed.

InferSent's files hold torch tensors and are read as they are. BiLSTM-Avg and GRAN are published as Python pickles of
the arrays of their Lasagne layers. A pickle runs whatever code it names, so they are converted once, where that is
acceptable, to an `.npz` with ``words`` and the names `BILSTM_AVERAGE` or `GRAN_GATED`, Lasagne's in its order::

    import pickle
    import numpy as np
    from sentbook.encoders.published import BILSTM_AVERAGE

    values = pickle.load(open("bilstmavg-4096-40.pickle", "rb"), encoding="latin1")
    places = values.pop()  # word to row; GRAN's file has none: its words are the first column of its vectors file
    np.savez("bilstm_avg.npz", words=sorted(places, key=places.get), **dict(zip(BILSTM_AVERAGE, values, strict=True)))
"""

from __future__ import annotations

import pickle
import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from sentbook.data.vectors import WordVectors
from sentbook.models.bilstm import BiLSTM, StatePadding
from sentbook.models.gran import GRAN
from sentbook.system.errors import CheckpointError, DataError

# Lasagne keeps the gates apart; in this order, i, f, g, o, they are the rows of torch's weights.
_GATES = ("ingate", "forgetgate", "cell", "outgate")
_PEEPHOLES = tuple(f"W_cell_to_{gate}" for gate in _GATES if gate != "cell")
_LSTM = (*(f"{part}_{gate}" for gate in _GATES for part in ("W_in_to", "W_hid_to", "b")), *_PEEPHOLES)
_INITIAL = ("cell_init", "hid_init")

BILSTM_AVERAGE = (
    "embedding",
    *(f"{direction}.{name}" for direction in ("forward", "backward") for name in (*_LSTM, *_INITIAL)),
)
GRAN_GATED = (
    "embedding",
    *(f"forward.{name}" for name in _LSTM),
    *("W_avg1", "W_avg2", "b_avg"),
    *(f"forward.{name}" for name in _INITIAL),
    "avg_init",
)


class PeepholeLSTM(nn.LSTM):
    r"""An LSTM whose gates see the cell, with the names of torch's weights.

    $i_t = \sigma(W_i x_t + U_i h_{t-1} + p_i \odot c_{t-1} + b_i)$, $f_t$ likewise,
    $c_t = f_t \odot c_{t-1} + i_t \odot \tanh(W_g x_t + U_g h_{t-1} + b_g)$,
    $o_t = \sigma(W_o x_t + U_o h_{t-1} + p_o \odot c_t + b_o)$, $h_t = o_t \odot \tanh(c_t)$.

    Source: Gers and Schmidhuber 2000, as Lasagne's `LSTMLayer` has it by default; so in the released code of Wieting
    and Gimpel 2017. Deviations: a gate has two biases, as torch's; the published one is the first, the second is zero.

    Shapes: packed (B, T, D) words to packed (B, T, h) states, or (B, T, 2 h) of both directions. Parameters: 3 h more
    a direction than `torch.nn.LSTM`.
    """

    def __init__(self, dimension: int, hidden: int, *, bidirectional: bool = False) -> None:
        super().__init__(dimension, hidden, batch_first=True, bidirectional=bidirectional)
        self.suffixes = ("l0", "l0_reverse") if bidirectional else ("l0",)
        for suffix in self.suffixes:
            self.register_parameter(f"peephole_{suffix}", nn.Parameter(torch.zeros(3 * hidden)))

    def forward(self, packed: PackedSequence) -> tuple[PackedSequence, None]:  # type: ignore[override]
        """Packed words to packed states, in the sentences' own order."""
        words, lengths = pad_packed_sequence(packed, batch_first=True)
        inside = (torch.arange(words.shape[1]) < lengths.unsqueeze(1)).unsqueeze(2).to(words.device)
        found = torch.cat([self._states(words, inside, suffix) for suffix in self.suffixes], dim=2)
        return pack_padded_sequence(found, lengths, batch_first=True, enforce_sorted=False), None

    def _states(self, words: Tensor, inside: Tensor, suffix: str) -> Tensor:
        own = {name: getattr(self, f"{name}_{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
        see_in, see_forget, see_out = getattr(self, f"peephole_{suffix}").chunk(3)
        inputs = functional.linear(words, own["weight_ih"], own["bias_ih"] + own["bias_hh"])
        cell = hidden = words.new_zeros(words.shape[0], self.hidden_size)
        steps = range(words.shape[1])
        found: list[Tensor] = []
        for at in reversed(steps) if suffix.endswith("reverse") else steps:
            i, f, g, o = (inputs[:, at] + functional.linear(hidden, own["weight_hh"])).chunk(4, dim=1)
            new = torch.sigmoid(f + see_forget * cell) * cell + torch.sigmoid(i + see_in * cell) * torch.tanh(g)
            state = torch.sigmoid(o + see_out * new) * torch.tanh(new)
            # Padding keeps the states, so that the backward direction begins at a sentence's own last word.
            cell, hidden = torch.where(inside[:, at], new, cell), torch.where(inside[:, at], state, hidden)
            found.append(hidden)
        return torch.stack(found[::-1] if suffix.endswith("reverse") else found, dim=1)


def infersent(path: Path, weight: Tensor, padding: StatePadding = "masked") -> BiLSTM:
    """InferSent from ``infersent1.pkl`` (GloVe 840B) or ``infersent2.pkl`` (fastText): a state dictionary of torch.

    The state dictionary of the whole inference network is read too; its classifier is left out. The older
    ``infersent.allnli.pickle`` is a pickled program: save its ``state_dict()`` where it is trusted.

    Source: Conneau et al. 2017 and their released code. Its sentences stand between two marks (``<s>`` and ``</s>`` in
    the first version), words without a vector are left out, and the first version takes the maximum over padding
    (``padding="zeros"``, see `BiLSTM`).

    Args:
        path: the file.
        weight: (V, D) word vectors, those that the encoder was trained with; the file holds none.
        padding: as `BiLSTM`.

    Raises:
        DataError: the file is missing, damaged, or holds more than tensors.
        CheckpointError: its names or shapes are not InferSent's.
    """
    lstm = {
        name.removeprefix("encoder.").removeprefix("enc_lstm."): value
        for name, value in _tensors(path).items()
        if not name.startswith("classifier.")
    }
    with torch.random.fork_rng(devices=[]):  # the initial values are thrown away
        encoder = BiLSTM(weight, _width(path, lstm), padding=padding)
    _fill(path, encoder.lstm, lstm)
    return encoder


def bilstm_average(path: Path, weight: Tensor) -> BiLSTM:
    """BiLSTM-Avg from an `.npz` with the names `BILSTM_AVERAGE`; see the module for how it comes from the pickle.

    Peepholes and initial states may be left out of the file: they are then zero, and the encoder is torch's LSTM.

    Source: Wieting and Gimpel 2018, "ParaNMT-50M", and their released code: both directions with peepholes, their
    states concatenated and averaged. Deviations: see `PeepholeLSTM`.

    Args:
        path: the file.
        weight: (V, D) word vectors, as `sentbook.models.build.embedding_matrix` makes them of `word_vectors`.

    Raises:
        DataError: the file is missing, damaged, or holds pickled objects.
        CheckpointError: its names or shapes are not those of a BiLSTM over ``weight``.
    """
    arrays = _arrays(path, BILSTM_AVERAGE, optional=_optional("forward.", "backward."))
    lstm = _direction(path, arrays, "forward.", "l0") | _direction(path, arrays, "backward.", "l0_reverse")
    with torch.random.fork_rng(devices=[]):
        encoder = BiLSTM(weight, _width(path, lstm), pool="mean")
        encoder.lstm = _lstm(path, encoder.lstm, lstm)
    return encoder


def gran(path: Path, weight: Tensor) -> GRAN:
    """GRAN from an `.npz` with the names `GRAN_GATED`; see the module for how it comes from the pickle.

    Peepholes and initial states may be left out of the file, as in `bilstm_average`.

    Source: Wieting and Gimpel 2017, section 3.2, and their released code with its defaults (``gran_type`` 1, an output
    gate, peepholes). Deviations: see `PeepholeLSTM`.

    Args, Raises: as `bilstm_average`.
    """
    arrays = _arrays(path, GRAN_GATED, optional={*_optional("forward."), "avg_init"})
    lstm = _direction(path, arrays, "forward.", "l0")
    with torch.random.fork_rng(devices=[]):
        encoder = GRAN(weight, _width(path, lstm))
        encoder.lstm = _lstm(path, encoder.lstm, lstm)
    both = _joined(path, [arrays["W_avg1"], arrays["W_avg2"]], axis=0)
    _fill(path, encoder.gate, {"weight": both, "bias": _joined(path, [arrays["b_avg"]], axis=0)})
    return encoder


def word_vectors(path: Path) -> WordVectors:
    """The words and trained word vectors of an `.npz` for `bilstm_average` or `gran`.

    Raises:
        DataError: the file is missing, damaged, or holds pickled objects.
        CheckpointError: it has no ``words`` or ``embedding``, or not one vector a word.
    """
    found = _arrays(path, ("words", "embedding"), others=True)
    words, matrix = found["words"], found["embedding"]
    if matrix.ndim != 2 or words.shape != matrix.shape[:1] or words.dtype.kind + matrix.dtype.kind != "Uf":
        raise CheckpointError(
            f"{path} has words of shape {words.shape} and vectors of shape {matrix.shape}; "
            "convert it again with one word a row of the embedding."
        )
    return WordVectors(words.tolist(), matrix.astype(np.float32))


def _tensors(path: Path) -> dict[str, Tensor]:
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing; correct the path.") from error
    except pickle.UnpicklingError as error:
        raise DataError(
            f"{path} is no file of tensors, or holds a program that reading would run; "
            "where it is trusted, load the model and save its state_dict(), or fetch the file again."
        ) from error
    except Exception as error:  # damaged bytes fail anywhere in torch's reader
        raise DataError(f"{path} is truncated or no file of torch; fetch it again.") from error
    if not isinstance(found, Mapping) or not all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in found.items()
    ):
        raise CheckpointError(f"{path} holds no state dictionary; save the model's state_dict() alone.")
    return dict(found)


def _arrays(
    path: Path, names: Collection[str], optional: Collection[str] = (), *, others: bool = False
) -> dict[str, NDArray[np.generic]]:
    """The arrays ``names`` of an `.npz`; with ``others`` any may stand beside them, else the word vectors, unread."""
    try:
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("a single array")
            held = {*archive.files}
            wanted = {*names} if others else {*names} - {"embedding"}
            found = {name: np.asarray(archive[name]) for name in held & wanted}
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing; correct the path.") from error
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(
            f"{path} is no .npz of plain arrays, or truncated; convert the published pickle as "
            "sentbook.models.published says."
        ) from error
    unknown = set() if others else held - {*names, "embedding", "words"}
    _refuse(path, missing=wanted - held - {*optional}, unknown=unknown)
    return found


def _optional(*prefixes: str) -> set[str]:
    return {prefix + name for prefix in prefixes for name in (*_PEEPHOLES, *_INITIAL)}


def _direction(path: Path, arrays: Mapping[str, NDArray[np.generic]], prefix: str, suffix: str) -> dict[str, Tensor]:
    """One LSTM layer of Lasagne under the names of torch's."""
    own = {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
    if any(own[name].any() for name in _INITIAL if name in own):
        raise CheckpointError(f"{path} has initial states that are not zero; the published models have none.")
    bias = _joined(path, [own[f"b_{gate}"] for gate in _GATES], axis=0)
    found = {
        f"weight_ih_{suffix}": _joined(path, [own[f"W_in_to_{gate}"] for gate in _GATES], axis=1),
        f"weight_hh_{suffix}": _joined(path, [own[f"W_hid_to_{gate}"] for gate in _GATES], axis=1),
        f"bias_ih_{suffix}": bias,
        f"bias_hh_{suffix}": torch.zeros_like(bias),
    }
    peepholes = [own[name] for name in _PEEPHOLES if name in own]
    if peepholes:
        found[f"peephole_{suffix}"] = _joined(path, peepholes, axis=0)
    return found


def _joined(path: Path, parts: list[NDArray[np.generic]], axis: int) -> Tensor:
    """Lasagne's (inputs, h) arrays, joined and turned into torch's (h, inputs)."""
    try:
        joined = np.concatenate(parts, axis=axis).T.astype(np.float32)
    except ValueError as error:
        shapes = ", ".join(str(part.shape) for part in parts)
        raise CheckpointError(f"{path} has arrays of shapes {shapes} that do not fit; convert it again.") from error
    return torch.from_numpy(np.ascontiguousarray(joined))


def _width(path: Path, values: Mapping[str, Tensor]) -> int:
    """h, from the (4 h, h) recurrent weights."""
    recurrent = values.get("weight_hh_l0")
    if recurrent is None or recurrent.ndim != 2 or not 0 < recurrent.shape[0] == 4 * recurrent.shape[1]:
        said = "no" if recurrent is None else f"{tuple(recurrent.shape)} as"
        raise CheckpointError(
            f"{path} has {said} recurrent weights (4 h, h) of an LSTM; it belongs to another encoder."
        )
    return int(recurrent.shape[1])


def _lstm(path: Path, plain: nn.LSTM, values: Mapping[str, Tensor]) -> nn.LSTM:
    """``plain`` filled with ``values``, or an LSTM with peepholes where one of them is not zero."""
    lstm = plain
    if any(value.any() for name, value in values.items() if name.startswith("peephole")):
        lstm = PeepholeLSTM(plain.input_size, plain.hidden_size, bidirectional=plain.bidirectional)
    else:
        values = {name: value for name, value in values.items() if not name.startswith("peephole")}
    _fill(path, lstm, values)
    return lstm


def _fill(path: Path, module: nn.Module, values: Mapping[str, Tensor]) -> None:
    wanted = module.state_dict()
    _refuse(path, missing=wanted.keys() - values.keys(), unknown=values.keys() - wanted.keys())
    for name, value in values.items():
        if value.shape != wanted[name].shape:
            raise CheckpointError(
                f"{path} has {name} of shape {tuple(value.shape)}, not {tuple(wanted[name].shape)}; "
                "give word vectors of the dimension that it was trained with."
            )
    module.load_state_dict(values)


def _refuse(path: Path, *, missing: Collection[str], unknown: Collection[str]) -> None:
    for names, said in ((sorted(missing), "lacks"), (sorted(unknown), "holds the unknown")):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            raise CheckpointError(f"{path} {said} {', '.join(names[:3])}{more}; it belongs to another encoder.")
