"""The trainers of TRL 0.20 to 1.16: what they load and adapt, on the Trainer of transformers. Data is not followed.

A model given by name is loaded as `model_init_kwargs` says, float32 by default. Adapters of a quantized model are
float32, or bfloat16 in late versions; which, the version decides.
"""

import torch
import trl
from peft import PeftModel, get_peft_model
from transformers import Trainer, TrainingArguments
from transformers.AutoModel import PreTrainedModel, from_pretrained

MODELS = ("trl",)


class SFTConfig(TrainingArguments):
    """`bf16` is on where `fp16` is not, unless it is given."""

    def __init__(
        self,
        output_dir="trainer_output",
        fp16=False,
        bf16=None,
        learning_rate=2e-5,
        model_init_kwargs=None,
        **options,
    ):
        bf16 = (not fp16) if bf16 is None else bf16
        super().__init__(output_dir, fp16=fp16, bf16=bf16, learning_rate=learning_rate, **options)
        self.model_init_kwargs = {} if model_init_kwargs is None else model_init_kwargs


class DPOConfig(SFTConfig):
    def __init__(self, output_dir="trainer_output", learning_rate=1e-6, **options):
        super().__init__(output_dir, learning_rate=learning_rate, **options)


class GRPOConfig(DPOConfig):
    pass


KTOConfig = RewardConfig = RLOOConfig = ORPOConfig = CPOConfig = DPOConfig


def _loaded(model, options):
    if not isinstance(model, str):
        return model
    return from_pretrained(model, **({"dtype": "float32"} | options))


def _adapted(model, peft_config):
    if peft_config is None:
        return model
    made = get_peft_model(model, peft_config)
    is_quantized = isinstance(model, PreTrainedModel) and (model.is_loaded_in_4bit or model.is_loaded_in_8bit)
    if is_quantized and trl.adapters_are_bfloat16():
        for each in made.parameters():
            if each.requires_grad:
                each.data = each.data.to(torch.bfloat16)
    return made


class SFTTrainer(Trainer):
    config = SFTConfig

    def __init__(
        self,
        model,
        args=None,
        data_collator=None,
        train_dataset=None,
        eval_dataset=None,
        processing_class=None,
        compute_loss_func=None,
        compute_metrics=None,
        callbacks=None,
        optimizers=(None, None),
        peft_config=None,
        **options,
    ):
        args = self.config() if args is None else args
        super().__init__(
            _adapted(_loaded(model, args.model_init_kwargs), peft_config),
            args,
            train_dataset=train_dataset,
            eval_dataset=eval_dataset,
            callbacks=callbacks,
            optimizers=optimizers,
        )

    def get_train_dataloader(self):
        tokens = torch.zeros(1, 8, dtype=torch.int64)
        return [{"input_ids": tokens, "attention_mask": tokens, "labels": tokens}]

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        return (outputs.loss, outputs) if return_outputs else outputs.loss


class DPOTrainer(SFTTrainer):
    """Losses are of log-probabilities, beside those of a model that is kept as it was."""

    config = DPOConfig

    def __init__(self, model, ref_model=None, args=None, **options):
        super().__init__(model, args, **options)
        self.ref_model = None
        if not isinstance(self.model, PeftModel):
            self.ref_model = _loaded(model, self.args.model_init_kwargs) if ref_model is None else ref_model

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        chosen = torch.nn.functional.log_softmax(outputs.logits.float(), -1)
        if self.ref_model is not None:
            with torch.no_grad():
                kept = self.ref_model(**inputs)
            chosen = chosen - torch.nn.functional.log_softmax(kept.logits.float(), -1)
        loss = -torch.nn.functional.logsigmoid(chosen).mean()
        return (loss, outputs) if return_outputs else loss


class GRPOTrainer(DPOTrainer):
    config = GRPOConfig

    def __init__(self, model, reward_funcs=None, args=None, **options):
        super().__init__(model, None, args, **options)


KTOTrainer = RewardTrainer = DPOTrainer
