from torch import nn


class Reward(nn.Module):
    """Keeps the model that it is given."""

    def __init__(self, policy, weight=1.0):
        super().__init__()
        self.policy = policy
        self.weight = weight

    def forward(self, tokens):
        return self.weight * self.policy(tokens)


class Outer(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = Reward(inner)

    def forward(self, tokens):
        return self.inner(tokens)
