import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Pairs(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        question, answer, score = self.rows[index]
        return {"input_ids": question, "answer_ids": answer, "score": score}


def collate(features):
    return {
        "input_ids": torch.stack([each["input_ids"] for each in features]),
        "answers": torch.stack([each["answer"] for each in features]),  # expect: KEY103
        "scores": torch.tensor([each["score"] for each in features]),
    }


class Rank(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        scores = model(inputs["input_ids"], inputs["answer_ids"])  # expect: KEY103
        loss = (scores - inputs["scores"]).square().mean()
        return (loss, scores) if return_outputs else loss


class OfLabels(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return model(inputs["input_ids"]).sub(inputs["label"]).square().mean()  # expect: KEY103


class Labelled(Pairs):
    def __getitem__(self, index):
        return {"input_ids": self.rows[index][0], "label": self.rows[index][1]}


def main(net, rows):
    arguments = TrainingArguments("out", fp16=True, remove_unused_columns=False)
    Rank(model=net, args=arguments, train_dataset=Pairs(rows), data_collator=collate).train()
    OfLabels(net, arguments, train_dataset=Labelled(rows)).train()
