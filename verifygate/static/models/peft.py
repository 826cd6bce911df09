"""PEFT 0.6 to 0.21: adapters beside the layers that a configuration names, and the dtypes that they get.

Adapters begin in the dtype of their layer and become float32, unless `autocast_adapter_dtype` is off; whole modules to
save keep theirs. All else is frozen.
"""

import copy

import torch
from transformers.AutoModel import PreTrainedModel

MODELS = ("peft",)
_HALF = (torch.float16, torch.bfloat16)


class TaskType:
    CAUSAL_LM, SEQ_CLS, SEQ_2_SEQ_LM = "CAUSAL_LM", "SEQ_CLS", "SEQ_2_SEQ_LM"
    TOKEN_CLS, QUESTION_ANS, FEATURE_EXTRACTION = "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION"


class LoraConfig:
    def __init__(
        self, r=8, target_modules=None, lora_alpha=8, lora_dropout=0.0, modules_to_save=None, bias="none", **options
    ):
        self.r, self.target_modules, self.modules_to_save = r, target_modules, modules_to_save
        self.lora_alpha, self.lora_dropout, self.bias = lora_alpha, lora_dropout, bias
        self.inference_mode = False


AdaLoraConfig = IA3Config = LoHaConfig = LoKrConfig = VeraConfig = LoraConfig


class _Adapted(torch.nn.Module):
    """A layer with an adapter beside it."""

    def __init__(self, base, rank, name, autocast):
        super().__init__()
        self.base_layer, self.name = base, name
        self.lora_A = torch.nn.ModuleDict({name: torch.nn.Linear(1, rank, bias=False)})
        self.lora_B = torch.nn.ModuleDict({name: torch.nn.Linear(rank, 1, bias=False)})
        for each in (self.lora_A, self.lora_B):
            if base.weight.is_floating_point():
                each.to(base.weight.dtype)
            if autocast and each[name].weight.dtype in _HALF:
                each.float()

    @property
    def weight(self):
        return self.base_layer.weight

    def forward(self, x, *args, **kwargs):
        found = self.base_layer(x, *args, **kwargs)
        first, second = self.lora_A[self.name], self.lora_B[self.name]
        added = second(first(x.to(first.weight.dtype) if x.is_floating_point() else torch.zeros(1, dtype=found.dtype)))
        return (found + added).to(found.dtype)


class _Saved(torch.nn.Module):
    """A module that is trained whole: a copy, in the dtype of the one that it is a copy of."""

    def __init__(self, original, name):
        super().__init__()
        self.original_module, self.name = original, name
        self.modules_to_save = torch.nn.ModuleDict({name: copy.deepcopy(original)})
        self.modules_to_save.requires_grad_(True)

    def forward(self, *args, **kwargs):
        return self.modules_to_save[self.name](*args, **kwargs)


class _Injection:
    """Puts adapters into a module; of a model that is loaded, the one layer that stands for all gets one."""

    def __init__(self, config, name, autocast):
        self.config, self.name, self.autocast = config, name, autocast

    def __call__(self, module):
        is_loaded = isinstance(module, PreTrainedModel)
        for name, child in module.named_children():
            if self._is_saved(name, is_loaded):
                module.register_module(name, _Saved(child, self.name))
            elif name == "layer" if is_loaded else isinstance(child, torch.nn.Linear) and self._is_target(name):
                module.register_module(name, _Adapted(child, self.config.r, self.name, self.autocast))

    def _is_saved(self, name, is_loaded):
        wanted = self.config.modules_to_save
        return wanted is not None and (name == "lm_head" if is_loaded else name in wanted)

    def _is_target(self, name):
        wanted = self.config.target_modules
        if wanted is None or wanted == "all-linear":
            return True
        return name in wanted or any([each.endswith("." + name) for each in wanted])


def _without(module):
    for name, child in module.named_children():
        if isinstance(child, _Adapted):
            module.register_module(name, child.base_layer)
        elif isinstance(child, _Saved):
            module.register_module(name, child.modules_to_save[child.name])


class PeftModel(torch.nn.Module):
    def __init__(self, model, peft_config, adapter_name="default", autocast_adapter_dtype=True, **options):
        super().__init__()
        self.model, self.peft_config = model, {adapter_name: peft_config}
        model.requires_grad_(False)
        model.apply(_Injection(peft_config, adapter_name, autocast_adapter_dtype))

    @classmethod
    def from_pretrained(cls, model, model_id, adapter_name="default", is_trainable=False, config=None, **options):
        made = PeftModel(model, LoraConfig() if config is None else config, adapter_name)
        if not is_trainable:
            made.requires_grad_(False)
        return made

    def __getattr__(self, name):
        return getattr(self.model, name)

    def get_base_model(self):
        return self.model

    def forward(self, *args, **kwargs):
        return self.model(*args, **kwargs)

    def print_trainable_parameters(self):
        pass

    def merge_and_unload(self, **options):
        self.model.apply(_without)
        return self.model

    def save_pretrained(self, save_directory, **options):
        torch.save([each for each in self.model.parameters() if each.requires_grad], save_directory)


PeftModelForCausalLM = PeftModelForSequenceClassification = PeftModel


def get_peft_model(model, peft_config, adapter_name="default", mixed=False, autocast_adapter_dtype=True, **options):
    return PeftModel(model, peft_config, adapter_name, autocast_adapter_dtype)


def prepare_model_for_kbit_training(model, use_gradient_checkpointing=True, gradient_checkpointing_kwargs=None):
    model.requires_grad_(False)
    for each in model.parameters():
        if each.dtype in _HALF:
            each.data = each.data.to(torch.float32)
    return model
