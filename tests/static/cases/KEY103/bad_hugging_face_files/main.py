from collate import Padded
from data import Reviews
from trainer import Stars
from transformers import TrainingArguments


def main(net, rows):
    arguments = TrainingArguments("out", bf16=True)
    trainer = Stars(net, arguments, Padded(0), train_dataset=Reviews(rows), weight=2.0)
    trainer.train()
