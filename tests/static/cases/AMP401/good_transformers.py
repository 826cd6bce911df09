import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from trl import SFTTrainer


def adapters_in_float32(name, data):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16)
    model = get_peft_model(model, LoraConfig())
    Trainer(model=model, args=TrainingArguments("out", fp16=True), train_dataset=data).train()


def adapters_by_the_trainer(name, data):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16)
    SFTTrainer(model=model, args=TrainingArguments("out", fp16=True), peft_config=LoraConfig(), train_dataset=data)


def bfloat16(name, data):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16)
    Trainer(model=model, args=TrainingArguments("out", bf16=True), train_dataset=data).train()


def only_the_head(name, data):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16)
    for weight in model.parameters():
        weight.requires_grad = False
    model.lm_head.float().requires_grad_(True)
    Trainer(model=model, args=TrainingArguments("out", fp16=True), train_dataset=data).train()


def only_evaluates(name, data):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16)
    settings = TrainingArguments("out", fp16_full_eval=True)
    return Trainer(model=model, args=settings, eval_dataset=data).evaluate()


def float_again(name, data):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16)
    model = model.float()
    Trainer(model=model, args=TrainingArguments("out", fp16=True), train_dataset=data).train()
