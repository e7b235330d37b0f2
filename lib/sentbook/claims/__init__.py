"""The numbers behind each claim of a paper, handed to its rule. One file a paper."""
