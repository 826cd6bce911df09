import torch
from transformers import Trainer, TrainerCallback, TrainingArguments


class Before(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)


class Own(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        self.accelerator.clip_grad_norm_(model.encoder.parameters(), 0.1)
        return loss


class Unscaled(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = self.compute_loss(model, inputs)
        self.accelerator.backward(loss)
        self.accelerator.unscale_gradients()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        return loss.detach()


def main(net, data):
    arguments = TrainingArguments("out", fp16=True)
    Own(model=net, args=arguments, train_dataset=data, callbacks=[Before()]).train()
    Unscaled(model=net, args=arguments, train_dataset=data).train()
