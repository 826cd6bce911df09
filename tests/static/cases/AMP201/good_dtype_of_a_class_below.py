"""Which class trains is chosen by an environment variable: one of the two scales its loss in float16, and unscales."""

import os

import torch


class Trainer:
    dtype = torch.bfloat16

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.dtype == torch.float16)

    def epoch(self, batches):
        for batch in batches:
            with torch.autocast("cuda", dtype=self.dtype):
                loss = self.model(batch).float().mean()
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()


class HalfTrainer(Trainer):
    dtype = torch.float16


if __name__ == "__main__":
    model = torch.nn.Linear(4, 4).cuda()
    (HalfTrainer if os.environ.get("FP16") else Trainer)(model, torch.optim.AdamW(model.parameters())).epoch(torch.randn(9, 4, 4, device="cuda"))
