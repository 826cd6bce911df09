"""A method that is defined twice in one class: the later definition counts."""

from torch.amp import GradScaler, autocast


class Trainer:
    def run_epoch(self):
        raise NotImplementedError

    def describe(self):
        return "trainer"

    def run_epoch(self):  # noqa: F811
        scaler = GradScaler("cuda")  # expect: AMP301
        for batch in self.batches:
            self.optimizer.zero_grad()
            with autocast("cuda"):
                loss = self.model(batch)
            scaler.scale(loss).backward()
            scaler.step(self.optimizer)
            scaler.update()


def main():
    trainer = Trainer()
    for _ in range(10):
        trainer.run_epoch()
