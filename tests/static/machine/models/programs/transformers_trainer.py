import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments


class Items(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        return {"x": torch.ones(8) * index, "labels": torch.zeros(2)}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, x, labels=None):
        logits = self.net(x)
        return {"loss": nn.functional.mse_loss(logits, labels), "logits": logits}


class Watch(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        model.net[0].weight.grad.norm()


class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = outputs["loss"] * 2
        return (loss, outputs) if return_outputs else loss


arguments = TrainingArguments(
    "out",
    max_steps=2,
    per_device_train_batch_size=8,
    gradient_accumulation_steps=2,
    bf16=True,
    use_cpu=True,
    report_to=[],
    save_strategy="no",
    disable_tqdm=True,
)
Own(model=Net(), args=arguments, train_dataset=Items(), callbacks=[Watch()]).train()
