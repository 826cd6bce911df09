import torch
from torch.utils.data import Dataset
from transformers import DataCollatorWithPadding, Trainer, TrainingArguments


class Pairs(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        question, answer, score = self.rows[index]
        return {"input_ids": question, "answer_ids": answer, "label": score}


def collate(features):
    first = features[0]
    batch = {name: torch.stack([each[name] for each in features]) for name in ("input_ids", "answer_ids")}
    if "weight" in first:
        batch["weight"] = torch.tensor([each["weight"] for each in features])
    batch["labels"] = torch.tensor([each["label"] for each in features])
    return batch


class Rank(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        scores = model(inputs["input_ids"], inputs["answer_ids"])
        return (scores - inputs["labels"]).square().mean()


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return model(inputs["input_ids"]).mul(inputs["attention_mask"]).mean()


class Prepares(Rank):
    def _prepare_inputs(self, inputs):
        inputs = super()._prepare_inputs(inputs)
        inputs["noise"] = torch.randn_like(inputs["input_ids"])
        return inputs

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return model(inputs["input_ids"]).mul(inputs["noise"]).mean()


class Collates(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, data_collator=lambda features: {"x": features}, **kwargs)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return model(inputs["x"]).mean()


def main(net, rows, tokenizer):
    arguments = TrainingArguments("out", fp16=True, remove_unused_columns=False)
    Rank(model=net, args=arguments, train_dataset=Pairs(rows)).train()
    Rank(model=net, args=arguments, train_dataset=Pairs(rows), data_collator=collate).train()
    padded = DataCollatorWithPadding(tokenizer)
    Weighted(model=net, args=arguments, train_dataset=Pairs(rows), data_collator=padded).train()
    Prepares(model=net, args=arguments, train_dataset=Pairs(rows)).train()
    Collates(model=net, args=arguments, train_dataset=Pairs(rows)).train()
