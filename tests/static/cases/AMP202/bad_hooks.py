"""One hook that is called twice in a step."""

import torch


class Clip:
    def __init__(self, limit):
        self.limit = limit

    def before_step(self, trainer):
        trainer.scaler.unscale_(trainer.optimizer)  # expect: AMP202
        torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), self.limit)


class Trainer:
    def __init__(self, model, hooks):
        self.model, self.hooks = model, hooks
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    def before_step(self):
        for hook in self.hooks:
            hook.before_step(self)

    def fit(self, batches):
        for inputs, targets in batches:
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.cross_entropy(self.model(inputs), targets)
            self.scaler.scale(loss).backward()
            self.before_step()
            self.before_step()
            self.scaler.step(self.optimizer)
            self.scaler.update()


def main(model, batches):
    Trainer(model, [Clip(1.0)]).fit(batches)
