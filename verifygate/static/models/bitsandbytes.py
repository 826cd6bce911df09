"""bitsandbytes 0.41 to 0.50, and its settings in transformers: layers that are kept in 4 or 8 bits, and optimizers.

A layer is quantized when it is moved to a device; here it is so from the beginning.
"""

import torch

MODELS = ("bitsandbytes", "transformers")


class BitsAndBytesConfig:
    def __init__(
        self,
        load_in_8bit=False,
        load_in_4bit=False,
        llm_int8_threshold=6.0,
        llm_int8_has_fp16_weight=False,
        bnb_4bit_compute_dtype=None,
        bnb_4bit_quant_type="fp4",
        bnb_4bit_use_double_quant=False,
        bnb_4bit_quant_storage=None,
        **options,
    ):
        self.load_in_8bit, self.load_in_4bit = load_in_8bit, load_in_4bit
        dtype = torch.float32 if bnb_4bit_compute_dtype is None else bnb_4bit_compute_dtype
        self.bnb_4bit_compute_dtype = getattr(torch, dtype) if isinstance(dtype, str) else dtype
        self.bnb_4bit_quant_type = bnb_4bit_quant_type


class _Quantized(torch.nn.Linear):
    """The weights are whole numbers, and frozen; a bias is in the dtype that is computed in."""

    def _quantize(self, dtype):
        self.weight = torch.nn.Parameter(torch.empty(1, dtype=dtype), requires_grad=False)
        self.weight.requires_grad_(False)

    def _bias(self, dtype):
        if self.bias is not None and self.bias.dtype != dtype:
            self.bias.data = self.bias.data.to(dtype)
        return self.bias


class Linear4bit(_Quantized):
    def __init__(
        self,
        input_features,
        output_features,
        bias=True,
        compute_dtype=None,
        compress_statistics=True,
        quant_type="fp4",
        quant_storage=torch.uint8,
        device=None,
    ):
        super().__init__(input_features, output_features, bias=bias)
        self.compute_dtype = compute_dtype
        self._quantize(quant_storage)

    def forward(self, x):
        dtype = x.dtype if self.compute_dtype is None else self.compute_dtype
        weight = torch.empty(1, 1, dtype=dtype)
        return torch.nn.functional.linear(x.to(dtype), weight, self._bias(dtype)).to(x.dtype)


class LinearFP4(Linear4bit):
    pass


class LinearNF4(Linear4bit):
    pass


class Linear8bitLt(_Quantized):
    def __init__(
        self, input_features, output_features, bias=True, has_fp16_weights=True, threshold=0.0, index=None, device=None
    ):
        super().__init__(input_features, output_features, bias=bias)
        self.has_fp16_weights = has_fp16_weights
        if not has_fp16_weights:
            self._quantize(torch.int8)

    def forward(self, x):
        weight = torch.empty(1, 1, dtype=torch.float16)
        return torch.nn.functional.linear(x.half(), weight, self._bias(x.dtype)).to(x.dtype)


# -- optimizers


class _Optimizer(torch.optim.Optimizer):
    def __init__(self, params, lr=None, **options):
        super().__init__(params, lr=lr)


class Adam(_Optimizer):
    pass


class AdamW(_Optimizer):
    pass


class SGD(_Optimizer):
    pass


class Lion(_Optimizer):
    pass


Adam32bit = PagedAdam = PagedAdam32bit = Adam
AdamW32bit = PagedAdamW = PagedAdamW32bit = AdamW
Lion32bit = PagedLion = PagedLion32bit = Lion


class Adam8bit(_Optimizer):
    state_dtype = torch.uint8


class PagedAdam8bit(Adam8bit):
    pass


class AdamW8bit(_Optimizer):
    state_dtype = torch.uint8


class PagedAdamW8bit(AdamW8bit):
    pass


class SGD8bit(_Optimizer):
    state_dtype = torch.uint8


class Lion8bit(_Optimizer):
    state_dtype = torch.uint8


class PagedLion8bit(Lion8bit):
    pass
