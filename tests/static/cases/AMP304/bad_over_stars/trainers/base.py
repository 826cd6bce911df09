"""What the package and the file beside import by a star; the two files import each other's names."""

import torch

from .settings import *


class Trainer:
    def prepare(self, network, optimizer):
        self.network, self.optimizer = network, optimizer
        self.settings = Settings()  # noqa: F405
        self.scaler = torch.amp.GradScaler("cuda")  # expect: AMP304
