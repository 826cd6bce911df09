import torch
from trainer import Trainer


class Shower(Trainer):
    def train_batch(self, inputs, targets):
        with torch.autocast("cuda", dtype=torch.float16):
            print(self.model(inputs))


if __name__ == "__main__":
    Shower(torch.nn.Linear(4, 4), None, [], None).train()
