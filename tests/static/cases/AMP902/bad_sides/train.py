from transformers import Seq2SeqTrainingArguments, TrainingArguments

CLIPPED = {"train_batch_size": "auto", "bf16": {"enabled": "auto"}, "gradient_clipping": 0.5}


def dtype_differs(folder):
    return TrainingArguments(folder, bf16=True, deepspeed="zero/two.json")  # expect: AMP902


def left_out(folder):
    return Seq2SeqTrainingArguments(output_dir=folder, deepspeed="./zero/two.json")  # expect: AMP902


def norm_differs(folder):
    return TrainingArguments(folder, bf16=True, max_grad_norm=1.0, deepspeed=CLIPPED)  # expect: AMP902


def norm_left_at_its_default(folder):
    return TrainingArguments(folder, deepspeed=CLIPPED)  # expect: AMP902
