from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Precision:
    device: str

    def autocast(self):
        return torch.autocast(self.device, dtype=torch.bfloat16)


def half():
    return torch.autocast("cuda", dtype=torch.float16)


def switched_on():
    context = torch.autocast("cuda", dtype=torch.float16)
    context.__enter__()
    return context
