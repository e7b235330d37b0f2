"""The whole grid of a profile, from data to the book: what is due, who does it, and what was done."""
