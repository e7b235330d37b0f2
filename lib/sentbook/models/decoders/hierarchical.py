"""The hierarchical decoder: a paragraph, sentence by sentence, from the vectors of the sentences before."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from sentbook.models.base import WordEmbedding
from sentbook.models.decoders.lstm import PUBLISHED, DecoderOptions, Forced, LSTMDecoder
from sentbook.models.recurrent import initialise


class HierarchicalDecoder(nn.Module):
    r"""$p(D) = \prod_{\ell=1}^{L} p(s_\ell \mid h_\ell)$ with $h_\ell = \mathrm{LSTM}_p(h_{\ell-1}, z_{\ell-1})$.

    An LSTM over the vectors $z$ of a paragraph's sentences, and one `LSTMDecoder` that writes each sentence conditioned
    on its state. $h_0 = 0$, and the last sentence's vector is never used.

    Source: Gan et al. 2017, section 2.2, equations 2-8.
    Deviations: none known. $s_0$ is "a special start-of-the-paragraph token"; it is read as a learned vector $z_0$ in
    place of a convolution over one token. All but $s_0$ are predicted, the first sentence from $z_0$ alone.

    Args:
        vocabulary, words: see `LSTMDecoder`.
        codes: F, the width of a sentence's vector.
        options: see `LSTMDecoder`; ``hidden`` is the H of both LSTMs, and dropout is on z too.

    Shapes: codes (P, L - 1, F), counts (P,) to states (P, L, H).
    """

    def __init__(
        self,
        vocabulary: int,
        words: int,
        codes: int,
        options: DecoderOptions = PUBLISHED,
    ) -> None:
        super().__init__()
        self.dropout = options.dropout
        self.opening = nn.Parameter(torch.empty(codes).uniform_(-options.bound, options.bound))
        self.paragraph = nn.LSTM(codes, options.hidden, batch_first=True)
        initialise(self.paragraph, options.bound)
        self.sentence = LSTMDecoder(vocabulary, words, options.hidden, options)

    def states(self, codes: Tensor) -> Tensor:
        """Run over (P, L - 1, F) vectors of all sentences but the last, any beyond a paragraph's end: (P, L, H).

        A state depends on the sentences before it alone, so that what stands behind a short paragraph changes nothing.
        """
        opening = self.opening.to(codes.dtype).expand(len(codes), 1, -1)
        codes = functional.dropout(torch.cat([opening, codes], dim=1), self.dropout, self.training)
        found: Tensor = self.paragraph(codes)[0]
        return found

    def conditions(self, codes: Tensor, counts: Tensor) -> Tensor:
        """Compute h_l of all sentences, paragraph by paragraph.

        Args:
            codes: (sum of counts - P, F) vectors of each paragraph's sentences but its last, one after the other.
            counts: (P,) sentences of each paragraph, at least 1; best on the CPU.

        Returns:
            (sum of counts, H).
        """
        counts = counts.cpu()
        longest = int(counts.max())
        at = torch.arange(longest)
        # Places of (P, L - 1) vectors and of (P, L) states, row by row; found on the CPU, no device is waited for.
        earlier = (at[:-1] < counts.unsqueeze(1) - 1).flatten().nonzero().squeeze(1).to(codes.device)
        inside = (at < counts.unsqueeze(1)).flatten().nonzero().squeeze(1).to(codes.device)
        padded = codes.new_zeros(len(counts) * (longest - 1), codes.shape[1]).index_copy(0, earlier, codes)
        return self.states(padded.view(len(counts), longest - 1, codes.shape[1])).flatten(0, 1)[inside]

    def forward(self, table: WordEmbedding, ids: Tensor, lengths: Tensor, codes: Tensor, counts: Tensor) -> Forced:
        """Predict every word and end of all sentences from the words and the sentences before.

        Args:
            ids, lengths: all sentences, (sum of counts, T) and (sum of counts,).
            codes, counts: as `conditions`.
        """
        forced: Forced = self.sentence(table, ids, lengths, self.conditions(codes, counts))
        return forced

    def next_state(self, codes: Tensor) -> Tensor:
        """Compute (P, H) from (P, L - 1, F) vectors of real sentences: what the next sentence is written from."""
        return self.states(codes)[:, -1]
