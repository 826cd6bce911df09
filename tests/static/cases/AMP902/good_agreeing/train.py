from transformers import TrainingArguments

import trl


def same(folder):
    return TrainingArguments(folder, fp16=True, max_grad_norm=0.5, deepspeed="zero/two.json")


def automatic(folder):
    return TrainingArguments(folder, bf16=True, deepspeed={"bf16": {"enabled": "auto"}, "gradient_clipping": "auto"})


def from_the_command_line(folder, half):
    return TrainingArguments(folder, fp16=half, max_grad_norm=0.5, deepspeed="zero/two.json")


def more(folder, **options):
    return TrainingArguments(folder, deepspeed="zero/two.json", **options)


def evaluates_in_half(folder):
    return TrainingArguments(folder, fp16_full_eval=True, max_grad_norm=0.5, deepspeed="zero/two.json")


def another_default(folder):
    return trl.SFTConfig(folder, deepspeed={"bf16": {"enabled": True}})
