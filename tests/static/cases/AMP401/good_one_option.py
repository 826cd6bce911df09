import argparse

import torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments


def another_option(data):
    parser = argparse.ArgumentParser()
    parser.add_argument("--fp16", action="store_true")
    parser.add_argument("--half-weights", action="store_true")
    args = parser.parse_args()
    dtype = torch.float16 if args.half_weights else torch.float32
    model = AutoModelForCausalLM.from_pretrained("name", torch_dtype=dtype)
    Trainer(model=model, args=TrainingArguments("out", fp16=args.fp16), train_dataset=data).train()


def the_other_way_round(data):
    parser = argparse.ArgumentParser()
    parser.add_argument("--fp16", action="store_true")
    args = parser.parse_args()
    dtype = torch.float32 if args.fp16 else torch.float16
    model = AutoModelForCausalLM.from_pretrained("name", torch_dtype=dtype)
    Trainer(model=model, args=TrainingArguments("out", fp16=args.fp16), train_dataset=data).train()


def only_bfloat16(name, data):
    (settings,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    dtype = torch.bfloat16 if settings.bf16 else torch.float32
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=dtype)
    Trainer(model=model, args=settings, train_dataset=data).train()


def only_evaluates(name, data):
    (settings,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16 if settings.fp16 else torch.float32)
    trainer = Trainer(model=model, args=settings, eval_dataset=data)
    return trainer.evaluate()


def adapters_in_float32(name, data):
    (settings,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16 if settings.fp16 else torch.float32)
    model = get_peft_model(model, LoraConfig())
    Trainer(model=model, args=settings, train_dataset=data).train()


def float_again(name, data):
    (settings,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16 if settings.fp16 else torch.float32)
    model.float()
    Trainer(model=model, args=settings, train_dataset=data).train()


def other_settings(name, data):
    asked, settings = HfArgumentParser((TrainingArguments, TrainingArguments)).parse_args_into_dataclasses()
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16 if asked.fp16 else torch.float32)
    Trainer(model=model, args=settings, train_dataset=data).train()


class Encoder(torch.nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder.float()

    @classmethod
    def build(cls, name, **options):
        return cls(encoder=AutoModelForCausalLM.from_pretrained(name, **options))

    def forward(self, **inputs):
        return self.encoder(**inputs)


def made_float_by_its_class(name, data):
    (settings,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    dtype = torch.float16 if settings.fp16 else torch.float32
    trainer = Trainer(model=Encoder.build(name, torch_dtype=dtype), args=settings, train_dataset=data)
    trainer.train()


def frozen_beside(model, teacher, args, batches):
    accelerator = Accelerator(mixed_precision=args.mixed_precision)
    dtype = torch.float32
    if accelerator.mixed_precision == "fp16":
        dtype = torch.float16
    teacher.requires_grad_(False)
    teacher.to(accelerator.device, dtype=dtype)
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
    for inputs in batches:
        accelerator.backward(model(inputs, teacher(inputs)).loss)
        optimizer.step()
        optimizer.zero_grad()
