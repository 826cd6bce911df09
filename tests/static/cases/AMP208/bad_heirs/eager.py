"""Derives from what derives from the trainer; no word of mixed precision stands here."""

from middle import Classifier


class Eager(Classifier):
    def apply(self):
        super().apply()
        self.optimizer.step()  # expect: AMP208


def main(model, optimizer, loader):
    trainer = Eager(model, optimizer)
    for batch in loader:
        trainer.train_step(batch)
