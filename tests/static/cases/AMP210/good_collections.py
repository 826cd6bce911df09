"""Collections of optimizers that all had their step when the update comes."""

import torch


def behind_the_last(model, optimizers, scaler, batches, window):
    for number, batch in enumerate(batches):
        for index, optimizer in enumerate(optimizers):
            scaler.scale(model(batch, index)).backward()
            if (number + 1) % window == 0:
                scaler.step(optimizer)
                if index + 1 == len(optimizers):
                    scaler.update()
                optimizer.zero_grad()


def counted_by_hand(model, optimizers, scaler, batches, window):
    for number, batch in enumerate(batches):
        scaler.scale(model(batch)).backward()
        if (number + 1) % window == 0:
            for index in range(len(optimizers)):
                scaler.step(optimizers[index])
                if index == len(optimizers) - 1:
                    scaler.update()
                optimizers[index].zero_grad()


def behind_all(model, optimizers, scaler, batches, window):
    for number, batch in enumerate(batches):
        scaler.scale(model(batch)).backward()
        if (number + 1) % window == 0:
            for name, optimizer in optimizers.items():
                scaler.unscale_(optimizer)
                scaler.step(optimizer)
            scaler.update()
            for optimizer in optimizers.values():
                optimizer.zero_grad()


def a_cycle_for_each(models, optimizers, scaler, batches):
    for batch in batches:
        for model, optimizer in zip(models, optimizers):
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()


def only_those_in_use(model, optimizers, scaler, batches, in_use):
    for batch in batches:
        live = [name for name in optimizers if in_use(name, batch)]
        for name in live:
            optimizers[name].zero_grad()
        scaler.scale(model(batch)).backward()
        for name in live:
            scaler.step(optimizers[name])
        scaler.update()


def zeroed_where_a_window_opens(model, optimizer, batches, window):
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(3):
        for number, batch in enumerate(batches):
            if number % window == 0:
                optimizer.zero_grad()
            scaler.scale(model(batch) / window).backward()
            if (number + 1) % window == 0 or number + 1 == len(batches):
                scaler.step(optimizer)
                scaler.update()


def written_out(encoder, head, batches):
    scaler = torch.amp.GradScaler("cuda")
    first = torch.optim.SGD(encoder.parameters(), lr=0.1)
    second = torch.optim.SGD(head.parameters(), lr=0.1)
    both = [first, second]
    for batch in batches:
        for each in both:
            each.zero_grad()
        scaler.scale(head(encoder(batch))).backward()
        for part, each in zip([encoder, head], both):
            scaler.unscale_(each)
            torch.nn.utils.clip_grad_norm_(part.parameters(), 1.0)
        for each in both:
            scaler.step(each)
        scaler.update()


def a_cycle_for_each_that_is_written_out(encoder, head, batches):
    scaler = torch.amp.GradScaler("cuda")
    first = torch.optim.SGD(encoder.parameters(), lr=0.1)
    second = torch.optim.SGD(head.parameters(), lr=0.1)
    for batch in batches:
        for model, each in ((encoder, first), (head, second)):
            each.zero_grad()
            scaler.scale(model(batch)).backward()
            scaler.step(each)
            scaler.update()
        for each in (first, second):
            if each is second:
                continue
            each.zero_grad()


class EachByItself:
    def __init__(self, parts, settings):
        self.optimizers = [torch.optim.Adam(part.parameters()) for part in parts]
        self.scaler = torch.amp.GradScaler("cuda", enabled=settings.fp16)

    def with_a_loss_of_its_own(self, batch):
        for opt in self.optimizers:
            opt.zero_grad()
            self.backward(opt, batch)
            self.scaler.step(opt)
            self.scaler.update()

    def at_the_last(self):
        for number, opt in enumerate(self.optimizers):
            self.scaler.step(opt)
            if number == len(self.optimizers) - 1:
                self.scaler.update()

    def after_all(self):
        for opt in self.optimizers:
            self.scaler.step(opt)
        self.scaler.update()
