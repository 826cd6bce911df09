from trainer import Trainer


def main(model, batches, names):
    trainer = Trainer(model)
    trainer.traced = True
    setattr(trainer, "scored", bool(names))
    return [trainer.loss(batch) for batch in batches]
