"""What a reader is shown in place of the names that runs record; the records keep theirs."""

from __future__ import annotations

import re

from sentbook.judge import specifications
from sentbook.records import Claim

_SUPERSCRIPTS = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
_READABLE = {
    # Rows of the DNT paper's tables 4 and 5.
    r" row1\b": ", words updated",
    r" row2\b": ", words frozen",
    r",? norm0to1\b": ", target in [0, 1]",
    r",? norm-1to1\b": ", target in [\u22121, 1]",
    r"\bdistance of wem\b": "distance of the word vectors",
    r"\bdistance of enc\b": "distance of the encoder",
    # Protocols, by the words of `sentbook.evaluation.protocols`.
    r", pearson,": ", Pearson\u2019s r,",
    r", spearman,": ", Spearman\u2019s \u03c1,",
    r", mse,": ", mean squared error,",
    r", f1,": ", F1,",
    r"\bptb-cased tokens": "Penn Treebank tokens with case",
    r"\bptb tokens": "Penn Treebank tokens",
    r"\bptb-cased\b": "Penn Treebank with case",
    r"\bptb\b": "Penn Treebank",
    r"\bwords tokens": "words without punctuation",
    r"\bwhitespace tokens": "tokens split at spaces",
    r"\bcontent tokens": "words without stop words",
    r"\bstems tokens": "stems",
    r"\btwo of today\b": "two recent ones",
    r"\btotal_avg\b": "the total average",
    **{rf"\bSTS{year}/avg\b": f"STS {year} average" for year in range(2012, 2017)},
    r"\bannotation_R@": "annotation R@",
    r"\bsearch_R@": "search R@",
    r"\blearning_rate\b": "learning rate",
    r"\bbatch_size\b": "batch size",
    r"\bcomposition_rate\b": "filters\u2019 rate",
    r"\bpeak_mebibytes\b": "peak MiB",
    r"\bembedding_update\b": "words",
    r"\bpull_back_words\b": "\u03bb_w",
    # What a verdict finds that a run does not have.
    r"\bbilstm_average\.hidden of\b": "a BiLSTM of width",
    r"\bvectors/googlenews_300d_full\b": "the whole table of GoogleNews",
    r"\bC of 2\^0\.\.2\^8": "C of 2\u2070 to 2\u2078",
    # Small numbers, as programs write them.
    r"\b0\.0e\+00\b": "0",
    **{rf"\b1e-0?{n}\b": f"10{f'-{n}'.translate(_SUPERSCRIPTS)}" for n in range(1, 13)},
    **{rf"(?<=[\d])e-0?{n}\b": f"\u00d710{f'-{n}'.translate(_SUPERSCRIPTS)}" for n in range(1, 13)},
    # Signs of numbers in the sentences of a verdict.
    r"(?<=[ \[])-(?=\d)": "\u2212",
}
_ANY = re.compile("|".join(f"({pattern})" for pattern in _READABLE))
# Elements whose text is a name to be typed or read by a program, tags, and the text between them.
_HTML = re.compile(r"<(code|pre|script|style)\b.*?</\1>|<[^>]*>|([^<]+)", re.DOTALL)


def readable(text: str) -> str:
    """Write recorded names as a reader of the field knows them.

    Example:
        >>> readable("GRAN [NT] KL row1"), readable("cosine, pearson, per set, ptb tokens")
        ('GRAN [NT] KL, words updated', 'cosine, Pearson\u2019s r, per set, Penn Treebank tokens')
        >>> readable("STS2012/avg: 55.8, gap -7.5; took the edge of its grid in learning_rate")
        'STS 2012 average: 55.8, gap \u22127.5; took the edge of its grid in learning rate'
        >>> readable("at most 0.0e+00 apart, tolerance 1e-05; lambda 3e-06")
        'at most 0 apart, tolerance 10\u207b\u2075; lambda 3\u00d710\u207b\u2076'
    """
    words = list(_READABLE.values())
    return _ANY.sub(lambda found: words[(found.lastindex or 1) - 1], text)


def rule_of(claim: Claim) -> str:
    """Name the rule that judges a claim in a few words."""
    spec = specifications().get(claim.id)
    return spec.rules[0].name if spec and spec.rules else claim.rule.replace("_", " ")


def readable_html(html: str) -> str:
    """Do the same to the text of HTML, and leave code, scripts and attributes alone."""
    return _HTML.sub(lambda found: readable(found[0]) if found[2] else found[0], html)
