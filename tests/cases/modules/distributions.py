"""torch.distributions: parameters are checked by the graph, lazy properties are computed once."""

import torch
from torch.distributions import Categorical, Independent, Normal, kl_divergence

#: torch.compile turns off the checks of arguments, for good, where it ran before.
SNAPSHOT = False
GRAPHS = 1


def fn(logits, mean, action):
    d = Categorical(logits=logits)
    n = Normal(mean, torch.ones_like(mean))
    entropy = d.entropy() + d.probs.sum()
    kl = kl_divergence(n, Normal(torch.zeros(2), torch.ones(2)))
    return d.log_prob(action), entropy, n.rsample(), Independent(n, 1).log_prob(mean), kl


def inputs():
    return torch.randn(3, 4), torch.randn(3, 2), torch.tensor([0, 3, 1])
