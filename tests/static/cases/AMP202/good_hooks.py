"""Each hook is of a kind of its own: that two in the list unscale is nothing that the code says."""

import torch


class Hook:
    def before_step(self, trainer):
        pass

    def after_step(self, trainer):
        pass


class Clip(Hook):
    def __init__(self, limit):
        self.limit = limit

    def before_step(self, trainer):
        trainer.scaler.unscale_(trainer.optimizer)
        torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), self.limit)


class Log(Hook):
    def after_step(self, trainer):
        print(trainer.step)


class Trainer:
    def __init__(self, model, hooks):
        self.model, self.hooks = model, hooks
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    def call(self, name):
        for hook in self.hooks:
            getattr(hook, name)(self)

    def fit(self, batches):
        for self.step, (inputs, targets) in enumerate(batches):
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.cross_entropy(self.model(inputs), targets)
            self.scaler.scale(loss).backward()
            self.call("before_step")
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.call("after_step")


def main(model, batches):
    Trainer(model, [Log(), Clip(1.0), Log()]).fit(batches)
