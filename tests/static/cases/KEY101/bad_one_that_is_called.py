"""One model is built, and gets a dict without the key that its loss always reads."""

import torch


class Labels:
    def calc_loss(self, batch):
        items = batch["item"]  # expect: KEY101
        with torch.autocast("cuda"):
            return items.mean()


def loss_of_pairs(better, worse):
    model = Labels()
    batch = {"better": better, "worse": worse}
    return model.calc_loss(batch)
