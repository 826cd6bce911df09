"""Reads behind switches: never on, set by somebody, on for good, and set by their names."""

import torch


def outputs_of(model, batch):
    with torch.autocast("cuda"):
        return {"logits": model(batch)}


class Trainer:
    def __init__(self, model):
        self.model = model
        self.weighted = False
        self.quiet = True
        self.traced = False
        self.scored = False
        self.masked = False

    def loss(self, batch):
        outputs = outputs_of(self.model, batch)
        loss = outputs["logits"].mean()
        if self.weighted:
            loss = loss * outputs["weights"]  # expect: KEY101 likely
        if not self.quiet and len(batch):
            print(outputs["losses"])  # expect: KEY101 likely
        if self.quiet:
            print(outputs["targets"])  # expect: KEY101
        if self.traced:
            print(outputs["trace"])  # expect: KEY101
        if self.scored:
            print(outputs["score"])  # expect: KEY101
        return outputs["mask"] if self.masked else loss  # expect: KEY101

    def early(self, batch):
        outputs = outputs_of(self.model, batch)
        if not self.weighted:
            return outputs["logits"]
        return outputs["weights"]  # expect: KEY101 likely


class Masked(Trainer):
    def __init__(self, model):
        super().__init__(model)
        self.masked = True


class Unrelated:
    def __init__(self, weighted):
        self.weighted = weighted
