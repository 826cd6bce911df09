"""Neither the loss nor what clears the gradients has a telling name: the model computes in float16 all the same."""

import torch


class Sorter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.belt = torch.nn.Linear(8, 8)

    @torch.autocast("cuda", dtype=torch.float16)  # expect: AMP305 likely
    def forward(self, parcels):
        return self.belt(parcels)


def train(batches):
    sorter = Sorter().cuda()
    sgd = torch.optim.SGD(sorter.parameters(), lr=0.1)
    for parcels, bins in batches:
        for weight in sorter.parameters():
            weight.grad = None
        nll = torch.nn.functional.cross_entropy(sorter(parcels), bins)
        nll.backward()
        sgd.step()
