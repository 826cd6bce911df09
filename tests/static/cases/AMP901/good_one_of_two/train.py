import deepspeed
from transformers import TrainingArguments

BOTH_NAMED = {"fp16": {"enabled": False, "loss_scale": 0}, "bf16": {"enabled": True}}


def engine(net, half):
    unknown = {"fp16": {"enabled": half}, "bf16": {"enabled": not half}}
    deepspeed.initialize(model=net, config=BOTH_NAMED)
    return deepspeed.initialize(model=net, config=unknown)


def left_to_the_arguments():
    return TrainingArguments("out", bf16=True, deepspeed={"fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}})


class Tokenizer:
    def __init__(self, config):
        self.config = config


other = Tokenizer(config={"fp16": {"enabled": True}, "bf16": {"enabled": True}})
