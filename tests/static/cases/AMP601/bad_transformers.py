from transformers import Trainer, TrainingArguments


class Own(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        model.train()
        loss = self.compute_loss(model, self._prepare_inputs(inputs))
        loss.backward()  # expect: AMP601
        return loss.detach()


def main(model, data):
    settings = TrainingArguments("out", fp16=True)
    Own(model=model, args=settings, train_dataset=data).train()
