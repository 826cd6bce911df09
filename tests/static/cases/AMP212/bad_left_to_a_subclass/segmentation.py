import torch

from engine import Engine


class Segmentation(Engine):
    def __init__(self, model, optimizer, every):
        super().__init__(optimizer, every)
        self.model = model

    def one_batch(self, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(batch).mean() / self.every
        self.scaler.scale(loss).backward()
