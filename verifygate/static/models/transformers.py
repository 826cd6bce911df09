"""The Trainer of transformers, 4.40 to 5.24: through Accelerate it does the loop, with the hooks of callbacks."""

import torch
from accelerate import Accelerator
from torch.utils._pytree import tree_map
from verifygate.shared import Moved, nothing

import verifygate

MODELS = ("transformers",)


set_seed = nothing


class TrainerState:
    def __init__(self):
        self.global_step, self.epoch, self.max_steps, self.log_history = 0, 0, 0, []


class TrainerControl:
    pass


class TrainerCallback:
    on_train_begin = on_epoch_begin = on_step_begin = on_substep_end = on_pre_optimizer_step = nothing
    on_optimizer_step = on_step_end = on_evaluate = on_epoch_end = on_train_end = nothing


class TrainingArguments:
    def __init__(
        self, output_dir="trainer_output", per_device_train_batch_size=8, per_device_eval_batch_size=8,
        gradient_accumulation_steps=1, learning_rate=5e-5, weight_decay=0.0, max_grad_norm=1.0, num_train_epochs=3.0,
        max_steps=-1, fp16=False, bf16=False, fp16_full_eval=False, bf16_full_eval=False,
        gradient_checkpointing=False, use_cpu=False, seed=42, **options
    ):  # fmt: skip
        self.output_dir = output_dir
        self.train_batch_size = self.per_device_train_batch_size = per_device_train_batch_size
        self.eval_batch_size = self.per_device_eval_batch_size = per_device_eval_batch_size
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.learning_rate, self.weight_decay, self.max_grad_norm = learning_rate, weight_decay, max_grad_norm
        self.num_train_epochs, self.max_steps, self.seed = num_train_epochs, max_steps, seed
        self.fp16, self.bf16, self.gradient_checkpointing = fp16, bf16, gradient_checkpointing
        self.fp16_full_eval, self.bf16_full_eval, self.use_cpu = fp16_full_eval, bf16_full_eval, use_cpu
        self.device = torch.device("cuda" if torch.cuda.is_available() and not use_cpu else "cpu")


class Trainer:
    log = save_state = nothing

    def __init__(
        self, model=None, args=None, data_collator=None, train_dataset=None, eval_dataset=None, processing_class=None,
        model_init=None, compute_loss_func=None, compute_metrics=None, callbacks=None, optimizers=(None, None),
        **options
    ):  # fmt: skip
        self.args = TrainingArguments() if args is None else args
        self.model = model_init() if model is None else model
        self.data_collator, self.compute_loss_func = data_collator, compute_loss_func
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        self.optimizer, self.lr_scheduler = optimizers
        self.callbacks = [each() if isinstance(each, type) else each for each in callbacks or []]
        self.state, self.control = TrainerState(), TrainerControl()
        precision = "fp16" if self.args.fp16 else "bf16" if self.args.bf16 else "no"
        self.accelerator = Accelerator(mixed_precision=precision, cpu=self.args.use_cpu)

    def add_callback(self, callback):
        self.callbacks.append(callback() if isinstance(callback, type) else callback)

    def _call(self, name):
        for each in self.callbacks:
            given = {"model": self.model, "optimizer": self.optimizer, "lr_scheduler": self.lr_scheduler}
            getattr(each, name)(self.args, self.state, self.control, **given)

    # -- what subclasses replace

    def get_train_dataloader(self):
        made = torch.utils.data.DataLoader(
            self.train_dataset, batch_size=self.args.train_batch_size, collate_fn=self.data_collator
        )
        return self.accelerator.prepare(made)

    def get_eval_dataloader(self, eval_dataset=None):
        data = self.eval_dataset if eval_dataset is None else eval_dataset
        return self.accelerator.prepare(torch.utils.data.DataLoader(data, collate_fn=self.data_collator))

    def create_optimizer(self):
        if self.optimizer is None:
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=self.args.learning_rate)
        return self.optimizer

    def create_scheduler(self, num_training_steps, optimizer=None):
        if self.lr_scheduler is None:
            self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, _constant)
        return self.lr_scheduler

    def create_optimizer_and_scheduler(self, num_training_steps):
        self.create_optimizer()
        self.create_scheduler(num_training_steps, self.optimizer)

    def compute_loss_context_manager(self):
        return self.autocast_smart_context_manager()

    def autocast_smart_context_manager(self):
        return self.accelerator.autocast()

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        if self.compute_loss_func is not None:
            loss = self.compute_loss_func(outputs, inputs["labels"], num_items_in_batch=num_items_in_batch)
        else:
            loss = outputs["loss"] if isinstance(outputs, dict) else outputs[0]
        return (loss, outputs) if return_outputs else loss

    def training_step(self, model, inputs, num_items_in_batch=None):
        model.train()
        inputs = tree_map(Moved(self.args.device), inputs)
        loss = self.compute_loss(model, inputs)
        loss = loss / self.args.gradient_accumulation_steps
        self.accelerator.backward(loss)
        return loss.detach()

    # -- the loop

    def train(self, resume_from_checkpoint=None, **options):
        batches = self.get_train_dataloader()
        self.create_optimizer_and_scheduler(self.args.max_steps)
        self.model, self.optimizer = self.accelerator.prepare(self.model, self.optimizer)
        self._call("on_train_begin")
        self.model.zero_grad()
        for _ in _epochs():
            self._call("on_epoch_begin")
            for index, inputs in enumerate(batches):
                self._call("on_step_begin")
                self.training_step(self.model, inputs)
                if (index + 1) % self.args.gradient_accumulation_steps == 0:
                    self._optimizer_step()
                else:
                    self._call("on_substep_end")
            self._call("on_epoch_end")
            if self.eval_dataset is not None:
                self.evaluate()
        self._call("on_train_end")

    def _optimizer_step(self):
        if self.args.max_grad_norm is not None and self.args.max_grad_norm > 0:
            self.accelerator.clip_grad_norm_(self.model.parameters(), self.args.max_grad_norm)
        if verifygate.at_least("transformers", "4.45"):
            self._call("on_pre_optimizer_step")
        self.optimizer.step()
        if verifygate.at_least("transformers", "4.42"):
            self._call("on_optimizer_step")
        self.lr_scheduler.step()
        self.model.zero_grad()
        self.state.global_step += 1
        self._call("on_step_end")

    def prediction_step(self, model, inputs, prediction_loss_only=True, ignore_keys=None):
        with torch.no_grad():
            loss, outputs = self.compute_loss(model, tree_map(Moved(self.args.device), inputs), return_outputs=True)
        return loss.detach(), outputs, None

    def evaluate(self, eval_dataset=None, ignore_keys=None, metric_key_prefix="eval"):
        if self.args.fp16_full_eval:
            self.model.to(dtype=torch.float16)
        elif self.args.bf16_full_eval:
            self.model.to(dtype=torch.bfloat16)
        self.model.eval()
        for inputs in self.get_eval_dataloader(eval_dataset):
            self.prediction_step(self.model, inputs)
        self._call("on_evaluate")
        return {}

    def save_model(self, output_dir=None, _internal_call=False):
        torch.save(self.model.state_dict(), output_dir or self.args.output_dir)


def _constant(step):
    return 1.0


def _epochs():
    return [0]
