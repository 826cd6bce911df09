import torch
from transformers import Trainer, TrainingArguments


class Own(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        torch.nn.utils.clip_grad_norm_(model.encoder.parameters(), 0.1)
        return loss


def main(net, data):
    Own(model=net, args=TrainingArguments("out", bf16=True), train_dataset=data).train()
