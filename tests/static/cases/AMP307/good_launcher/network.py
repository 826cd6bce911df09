import torch


class Network(torch.nn.Linear):
    def __init__(self):
        super().__init__(8, 8)


def batches(settings):
    return [torch.randn(4, 8) for _ in range(settings.get("steps", 3))]
