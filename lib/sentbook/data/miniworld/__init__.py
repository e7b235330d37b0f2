"""The mini-world: scenes from a seed, said in many ways, with gold computed from their meaning."""

from sentbook.data.miniworld.world import World

__all__ = ["World"]
