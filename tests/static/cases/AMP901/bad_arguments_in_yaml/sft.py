import torch
from transformers import HfArgumentParser, TrainingArguments

parser = HfArgumentParser(TrainingArguments)
(arguments,) = parser.parse_yaml_file("recipes/sft.yaml")
