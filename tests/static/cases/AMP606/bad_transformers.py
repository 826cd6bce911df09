from transformers import Trainer, TrainingArguments


class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = outputs.loss / self.args.gradient_accumulation_steps  # expect: AMP606 likely
        return (loss, outputs) if return_outputs else loss


def main(model, data):
    Own(model=model, args=TrainingArguments("out", gradient_accumulation_steps=4), train_dataset=data).train()
