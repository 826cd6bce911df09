import torch


class Padded:
    def __init__(self, pad):
        self.pad = pad

    def __call__(self, features):
        ids = [each["input_ids"] for each in features]
        labels = torch.tensor([each["labels"] for each in features])  # expect: KEY103
        return {"input_ids": ids, "targets": labels}
