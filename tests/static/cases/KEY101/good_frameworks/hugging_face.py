from torch import nn
from transformers import AutoModel, Trainer, TrainingArguments


class Tagger(nn.Module):
    def forward(self, input_ids, labels=None):
        return {"loss": input_ids.mean(), "scores": input_ids}


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]


class OfAny(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        return model(**inputs)["last_hidden_state"].mean()


class WrapsIt(Trainer):
    def __init__(self, model, **kwargs):
        super().__init__(model=nn.Sequential(model), **kwargs)

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        return model(**inputs)["outer"].mean()


def main(data):
    arguments = TrainingArguments("out", fp16=True)
    Weighted(model=Tagger(), args=arguments, train_dataset=data).train()
    OfAny(model=AutoModel.from_pretrained("x"), args=arguments, train_dataset=data).train()
    OfAny(model=Tagger(), args=arguments, train_dataset=data).evaluate(data)
    WrapsIt(model=Tagger(), args=arguments, train_dataset=data).train()
