import torch
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

words = Tokenizer(models.WordLevel({"<pad>": 0, "</s>": 1, "a": 2, "b": 3}, unk_token="<pad>"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="</s>", unk_token="<pad>")
config = LlamaConfig(vocab_size=8, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, pad_token_id=0)
AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained("tiny")
tokenizer.save_pretrained("tiny")
common = {"max_steps": 2, "per_device_train_batch_size": 2, "use_cpu": True, "report_to": [], "save_strategy": "no", "disable_tqdm": True}


class Own(SFTTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(input_ids=inputs["input_ids"], labels=inputs["labels"])
        loss = outputs.loss * 2
        return (loss, outputs) if return_outputs else loss


def dtypes(trainer):
    for each in trainer.model.parameters():
        if each.requires_grad:
            each.detach()
    trainer.train()


texts = Dataset.from_dict({"text": ["a b a b", "b a b a"] * 2})
half = SFTConfig("out", model_init_kwargs={"dtype": "bfloat16"}, bf16=True, gradient_accumulation_steps=1, **common)
dtypes(Own("tiny", args=half, train_dataset=texts, processing_class=tokenizer))
adapted = SFTConfig("out", model_init_kwargs={"dtype": torch.bfloat16}, bf16=True, gradient_checkpointing=False, **common)
dtypes(SFTTrainer("tiny", adapted, train_dataset=texts, peft_config=LoraConfig(r=2, target_modules=["q_proj"])))
pairs = Dataset.from_dict({"prompt": ["a", "b"] * 2, "chosen": ["a b", "a"] * 2, "rejected": ["b", "b a"] * 2})
preferred = DPOConfig("out", bf16=False, gradient_checkpointing=False, **common)
dtypes(DPOTrainer("tiny", args=preferred, train_dataset=pairs, processing_class=tokenizer))
