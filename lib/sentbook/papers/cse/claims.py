"""What only the claims of Jiao et al. 2018 need."""

from __future__ import annotations

from sentbook.records import Finding, Test
from sentbook.runs.evidence import Evidence
from sentbook.runs.verdicts import Judgement, Rule, bound

# A share of a vector's length below this is rounding in float32.
SAME = 1e-6


def moved(evidence: Evidence, finding: str) -> Judgement:
    """Reproduced when permuting a sentence's interior moves the linear encoder's vector by more than rounding does,
    else not reproduced.

    Args:
        finding: variant of the encoder -> by which share of its length, as in ``notebooks/cse/ambiguities``.
    """
    shares = evidence.finding(finding)
    linear = f"at most {shares['clean']:.1e}" if shares["clean"] else "0 (to float32 precision)"
    return Judgement(
        "not reproduced" if shares["clean"] < SAME else "reproduced",
        f"permuting a sentence's interior moves the linear encoder's vector by {linear} of its length, "
        f"the tanh encoder's by {shares['tanh']:.1e}",
        ours=Finding(what="moved by a permutation", unit="distance", value=shares["clean"]),
        printed=bound("to be above", "distance", SAME, False),
    )


def fitted_errors(evidence: Evidence) -> dict[str, Test]:
    """Give the errors of CSE minus those of PP by group, with the fitted monotone map.

    The paper's own map fixes the level of every score; a fitted one leaves what the encoder itself errs.
    """
    pairs = {row.dataset: row.n for row in evidence.metrics}
    found = {}
    for test in evidence.tests:
        fitted, _, group = test.dataset.partition(" map/")
        if fitted == "isotonic" and test.a == "CSE":  # and no other CSE
            name = f"{group} ({pairs[test.dataset]} pairs, fitted map)"
            found[group] = test.model_copy(update={"dataset": name})
    return found


RULES = {"moved": Rule(moved, "the order of words counts", 0.0)}
FINDINGS = {"fitted errors": fitted_errors}
