import torch
from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, BitsAndBytesConfig, LlamaConfig

config = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, pad_token_id=0)
AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained("tiny")
tokens = torch.ones(2, 8, dtype=torch.int64)


def trained(model, learning_rate=1e-4):
    for each in model.parameters():
        if each.requires_grad:
            each.detach()
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=learning_rate)
    outputs = model(input_ids=tokens, labels=tokens)
    outputs.logits.sum()
    loss = outputs.loss * 2
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


trained(AutoModelForCausalLM.from_pretrained("tiny", dtype=torch.bfloat16))
base = AutoModelForCausalLM.from_pretrained("tiny", dtype="bfloat16")
adapted = get_peft_model(base, LoraConfig(r=2, target_modules=["q_proj"]))
trained(adapted)
adapted.save_pretrained("adapter")
trained(PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained("tiny", dtype=torch.bfloat16), "adapter", is_trainable=True))
quantized = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
model = AutoModelForCausalLM.from_pretrained("tiny", dtype=torch.bfloat16, quantization_config=quantized, device_map="cpu")
model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
trained(get_peft_model(model, LoraConfig(r=2, target_modules="all-linear")))
classifier = AutoModelForSequenceClassification.from_pretrained("tiny", dtype=torch.bfloat16)
classifier(input_ids=tokens).logits.sum()
