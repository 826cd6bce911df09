from transformers import Trainer


class Stars(Trainer):
    def __init__(self, *args, weight=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.weight = weight

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        logits = model(inputs["input_ids"])
        loss = self.weight * (logits - inputs["labels"]).abs().mean()  # expect: KEY103
        return (loss, logits) if return_outputs else loss
