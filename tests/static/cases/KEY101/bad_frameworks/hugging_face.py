import torch
from torch import nn
from transformers import Trainer, TrainingArguments


class Tagger(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.head = nn.Linear(size, 2)

    def forward(self, input_ids, labels=None):
        scores = self.head(input_ids)
        outputs = {"scores": scores}
        if labels is not None:
            outputs["loss"] = nn.functional.cross_entropy(scores, labels)
        return outputs


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = nn.functional.cross_entropy(outputs["logits"], labels)  # expect: KEY101
        return (loss, outputs) if return_outputs else loss

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        with torch.no_grad():
            outputs = model(**inputs)
        return outputs["loss"], outputs["logit"], inputs["labels"]  # expect: KEY101


def main(data):
    trainer = Weighted(model=Tagger(16), args=TrainingArguments("out", fp16=True), train_dataset=data)
    trainer.train()
