import deepspeed
from transformers import TrainingArguments

SHARED = {
    "train_micro_batch_size_per_gpu": 4,
    "bf16": {
        "enabled": True,  # expect: AMP901
    },
    "fp16": {"enabled": True, "initial_scale_power": 12},
}


def engine(net):
    return deepspeed.initialize(model=net, config=SHARED)[0]


def made_by_dict(net):
    halves = dict(
        fp16=dict(enabled=True),
        bf16=dict(enabled=True),  # expect: AMP901
    )
    return deepspeed.initialize(model=net, config_params=halves)


def arguments():
    return TrainingArguments("out", deepspeed={
        "fp16": {"enabled": True}, "bf16": {"enabled": True},  # expect: AMP901
    })
