"""What an `except` leads to runs, too; so does what a property chooses."""

import torch


class Loop:
    def __init__(self, model, settings):
        self.model = model
        self.settings = settings

    @property
    def on_one_device(self):
        return not self.settings.distributed

    def turn(self, batch):
        metrics = {}
        try:
            started = self.settings.clock()
            outputs = self.model.own_turn(batch)
            metrics["time"] = self.settings.clock() - started
        except NotImplementedError:
            outputs = self.usual_turn(batch)
        return outputs, metrics

    def usual_turn(self, batch):
        if self.on_one_device:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.model(batch)
                loss.backward()  # expect: AMP101
        else:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = self.model.module(batch)
                loss.backward()  # expect: AMP101
        return loss
