"""A checkpointer that is told of the scaler as well; hooks and meters are no checkpoints."""

import torch
from keeping import keeper


class Trainer:
    def __init__(self, model, folder):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")
        self.checkpointer = keeper(folder)
        self.checkpointer.add_recoverable("model", model)
        self.checkpointer.add_recoverable("optimizer", self.optimizer)
        self.checkpointer.add_recoverable(
            "amp",
            self.scaler,
        )

    def fit(self, loss_fn, batches):
        self.checkpointer.recover_if_possible()
        for images, labels in batches:
            self.optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = loss_fn(self.model(images), labels)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.checkpointer.save()
