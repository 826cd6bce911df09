import torch
from transformers import Trainer, TrainerCallback, TrainingArguments


class EachMicroBatch(TrainerCallback):
    def on_substep_end(self, args, state, control, model=None, **kwargs):
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP201 likely


class Own(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        torch.nn.utils.clip_grad_norm_(model.encoder.parameters(), 0.1)  # expect: AMP201 likely
        return loss


class ByHand(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = self.compute_loss(model, self._prepare_inputs(inputs))
        self.accelerator.backward(loss)
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.1)  # expect: AMP201 likely
        return loss.detach()


def main(net, data):
    arguments = TrainingArguments("out", fp16=True, gradient_accumulation_steps=4)
    Own(model=net, args=arguments, train_dataset=data, callbacks=[EachMicroBatch()]).train()
    ByHand(model=net, args=arguments, train_dataset=data).train()
