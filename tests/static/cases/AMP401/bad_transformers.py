import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return model(**inputs).loss


def whole(name, data):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16)  # expect: AMP401 likely
    settings = TrainingArguments("out", fp16=True)
    Trainer(model=model, args=settings, train_dataset=data).train()


def adapters(name, data):
    model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float16)  # expect: AMP401 likely
    model = get_peft_model(model, LoraConfig(), autocast_adapter_dtype=False)
    trainer = Own(model, args=TrainingArguments("out", fp16=True), train_dataset=data)
    trainer.train()


def cast(net, data):
    net = net.half()  # expect: AMP401 likely
    return Own(model=net, args=TrainingArguments("out", fp16=torch.cuda.is_available()), train_dataset=data)
