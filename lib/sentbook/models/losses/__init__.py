"""Losses: what a training makes small, one file an objective."""

from sentbook.models.losses.margin import margin_loss as margin_loss
from sentbook.models.losses.relatedness import RelatednessHead as RelatednessHead
from sentbook.models.losses.relatedness import relatedness_loss as relatedness_loss
from sentbook.models.losses.relatedness import score_error as score_error
from sentbook.models.losses.relatedness import sparse_target as sparse_target
from sentbook.models.losses.relatedness import squared_error_loss as squared_error_loss
from sentbook.models.losses.similarity import cross_entropy_loss as cross_entropy_loss
from sentbook.models.losses.similarity import kl_loss as kl_loss
from sentbook.models.losses.similarity import mse_loss as mse_loss
from sentbook.models.losses.similarity import pair_score as pair_score
from sentbook.models.losses.similarity import score_loss as score_loss
