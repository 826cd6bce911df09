import argparse

import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments


def on_the_command_line(data):
    parser = argparse.ArgumentParser()
    parser.add_argument("--name")
    parser.add_argument("--fp16", action="store_true")
    args = parser.parse_args()
    dtype = torch.float16 if args.fp16 else torch.float32  # expect: AMP401 likely
    model = AutoModelForCausalLM.from_pretrained(args.name, torch_dtype=dtype)
    trainer = Trainer(model=model, args=TrainingArguments("out", fp16=args.fp16), train_dataset=data)
    trainer.train()


def of_the_trainer_itself(name, data):
    (settings,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    if settings.bf16:
        dtype = torch.bfloat16
    elif settings.fp16:
        dtype = torch.float16  # expect: AMP401 likely
    else:
        dtype = torch.float32
    options = {"cache_dir": "cache", "torch_dtype": dtype}
    model = AutoModelForCausalLM.from_pretrained(name, **options)
    trainer = Trainer(model=model, args=settings, train_dataset=data)
    trainer.train()


def built_elsewhere(name, data):
    (settings,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    Trainer(model=built(name, settings), args=settings, train_dataset=data).train()


def built(name, options):
    model = AutoModelForCausalLM.from_pretrained(name)
    if options.fp16:
        model.half()  # expect: AMP401 likely
    return model


class Encoder(torch.nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    @classmethod
    def build(cls, name, **options):
        return cls(encoder=AutoModelForCausalLM.from_pretrained(name, **options))

    def forward(self, **inputs):
        return self.encoder(**inputs)


def built_by_its_class(name, data):
    (settings,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    dtype = torch.float16 if settings.fp16 else torch.float32  # expect: AMP401 likely
    trainer = Trainer(model=Encoder.build(name, torch_dtype=dtype), args=settings, train_dataset=data)
    trainer.train()


def accelerated(model, args, batches):
    accelerator = Accelerator(mixed_precision=args.mixed_precision)
    dtype = torch.float32
    if accelerator.mixed_precision == "fp16":
        dtype = torch.float16  # expect: AMP401 likely
    model.to(accelerator.device, dtype=dtype)
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
    for inputs in batches:
        accelerator.backward(model(inputs).loss)
        optimizer.step()
        optimizer.zero_grad()
