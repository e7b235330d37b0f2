"""Recorded runs: the ledger, what each was made from, the rules of verdicts, and the batch."""
