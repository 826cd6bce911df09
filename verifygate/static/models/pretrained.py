"""Models that transformers 4.40 to 5.24 loads or makes by the name of a task: one layer stands for all of a model's.

What is loaded without a dtype has that of its files, or float32: which, no program says.
"""

import torch
import transformers
from bitsandbytes.nn import Linear4bit, Linear8bitLt

MODELS = (
    "transformers.AutoModel",
    "transformers.AutoModelForCausalLM",
    "transformers.AutoModelForSeq2SeqLM",
    "transformers.AutoModelForMaskedLM",
    "transformers.AutoModelForSequenceClassification",
    "transformers.AutoModelForTokenClassification",
    "transformers.AutoModelForImageTextToText",
    "transformers.AutoModelForVision2Seq",
    "transformers.AutoModelForSpeechSeq2Seq",
)


class _Config:
    use_cache = True


class ModelOutput:
    def __init__(self, loss, logits, hidden):
        self.loss, self.logits, self.last_hidden_state = loss, logits, hidden

    def __getitem__(self, key):
        if isinstance(key, str):
            return getattr(self, key)
        return self.loss if self.loss is not None and key == 0 else self.logits


class PreTrainedModel(torch.nn.Module):
    """`bits` of a quantized layer: 4, 8, or 16 for none; what is not quantized has the dtype asked for."""

    def __init__(self, dtype, bits=16, compute_dtype=None):
        super().__init__()
        self.config, self.generation_config = _Config(), _Config()
        self.is_loaded_in_4bit, self.is_loaded_in_8bit = bits == 4, bits == 8
        if bits == 4:
            self.layer = Linear4bit(1, 1, bias=False, compute_dtype=compute_dtype)
        elif bits == 8:
            self.layer = Linear8bitLt(1, 1, bias=False, has_fp16_weights=False)
        else:
            self.layer = torch.nn.Linear(1, 1, bias=False, dtype=dtype)
        self.norm = torch.nn.LayerNorm(1, dtype=dtype)
        self.lm_head = torch.nn.Linear(1, 1, bias=False, dtype=dtype)
        if bits < 16:
            self.requires_grad_(False)  # of such a model adapters are trained

    @property
    def dtype(self):
        return self.norm.weight.dtype

    @property
    def device(self):
        return self.norm.weight.device

    def forward(self, input_ids=None, attention_mask=None, labels=None, **inputs):
        embedded = torch.zeros(1, 1, dtype=self.norm.weight.dtype)
        hidden = self.norm(self.layer(embedded))
        logits = self.lm_head(hidden)
        loss = None
        if labels is not None:
            loss = torch.nn.functional.cross_entropy(logits.float(), torch.zeros(1, dtype=torch.int64))
        return ModelOutput(loss, logits, hidden)

    def generate(self, *args, **kwargs):
        with torch.no_grad():
            self.forward()
        return torch.zeros(1, 1, dtype=torch.int64)

    def gradient_checkpointing_enable(self, gradient_checkpointing_kwargs=None):
        pass

    def enable_input_require_grads(self):
        pass

    def resize_token_embeddings(self, new_num_tokens=None, **options):
        return self.lm_head

    def get_input_embeddings(self):
        return self.lm_head

    def get_output_embeddings(self):
        return self.lm_head

    def save_pretrained(self, save_directory, state_dict=None, **options):
        torch.save(self.state_dict() if state_dict is None else state_dict, save_directory)

    def push_to_hub(self, *args, **kwargs):
        pass


def _dtype(given, name):
    if given is None or given == "auto":
        return transformers.dtype_of_the_files(name)
    return getattr(torch, given) if isinstance(given, str) else given


def from_pretrained(
    name,
    *args,
    dtype=None,
    torch_dtype=None,
    quantization_config=None,
    load_in_4bit=False,
    load_in_8bit=False,
    **options,
):
    found = _dtype(dtype if torch_dtype is None else torch_dtype, name)
    compute_dtype = None
    if quantization_config is not None:
        load_in_4bit, load_in_8bit = quantization_config.load_in_4bit, quantization_config.load_in_8bit
        compute_dtype = quantization_config.bnb_4bit_compute_dtype
    return PreTrainedModel(found, 4 if load_in_4bit else 8 if load_in_8bit else 16, compute_dtype)


def from_config(config, dtype=None, torch_dtype=None, **options):
    return PreTrainedModel(_dtype(dtype if torch_dtype is None else torch_dtype, config))
