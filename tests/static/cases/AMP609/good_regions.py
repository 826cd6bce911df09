import torch
from lightning.pytorch import Trainer
from torch import nn


def inside_only(net, data):
    trainer = Trainer(precision="16-mixed")
    trainer.fit(net, data)
    with torch.autocast("cuda"):
        trainer.validate(net, data)


def without_a_cache(net, data):
    with torch.autocast("cuda", cache_enabled=False):
        Trainer().fit(net, data)


def a_model_in_training_mode(model: nn.Module, data):
    with torch.autocast("cuda"):
        model.train()
        return model(data)


class Scaler:
    def fit(self, values):
        self.mean = values.mean()


def other(values):
    with torch.autocast("cuda"):
        Scaler().fit(values)


def switched_off(net, data):
    with torch.autocast("cuda", enabled=False):
        Trainer().fit(net, data)
