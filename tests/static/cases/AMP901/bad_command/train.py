import torch
from transformers import HfArgumentParser, TrainingArguments

(arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
