import torch


class Precision:
    def autocast(self):
        return torch.autocast("cpu", dtype=torch.bfloat16)


def half():
    return torch.autocast("cuda", dtype=torch.float16)
