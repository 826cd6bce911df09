import copy

import lightning as L
import torch


class Average(L.Callback):
    def __init__(self, decay=0.999):
        self.decay = decay
        self.average = None

    def on_fit_start(self, trainer, pl_module):
        self.average = copy.deepcopy(pl_module)

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        with torch.no_grad():
            for old, new in zip(self.average.parameters(), pl_module.parameters(), strict=True):
                old.mul_(self.decay).add_(new, alpha=1 - self.decay)  # expect: AMP615 likely
