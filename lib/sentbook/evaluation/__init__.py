"""Predictions, their statistics, and the protocols of the tasks: from sentence vectors to numbers."""
