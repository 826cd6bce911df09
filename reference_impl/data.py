"""The task: sort eight digits. `83502714` is the question, `01234578` the answer.

The program makes its own data, the same on every machine. A held-out item is held out together with all
rearrangements of its digits, so a right answer is never a remembered one. Nothing here has a position of its own:
window number `n` is a function of `n` and the seed, and that makes resuming exact.
"""

from __future__ import annotations

import torch
from torch import Tensor

from reference_impl.errors import ConfigError

DIGITS = 8
SEPARATOR = 10  # the token between question and answer; 0..9 are the digits themselves
VOCABULARY = 11
CONTEXT = 2 * DIGITS  # tokens the model reads: question, separator, all but the last digit of the answer
IGNORE = -100  # targets that the loss leaves out: nobody can predict the question

Batch = tuple[Tensor, Tensor]  # tokens and targets, both (items, CONTEXT) int64


def make_items(train_items: int, eval_items: int) -> tuple[Tensor, Tensor]:
    """Generate training and held-out sequences, each (items, CONTEXT + 1) int64; no randomness but a fixed seed."""
    generator = torch.Generator().manual_seed(20_260_101)
    train, held_out = torch.empty(0, CONTEXT + 1, dtype=torch.int64), torch.empty(0, CONTEXT + 1, dtype=torch.int64)
    while len(train) < train_items or len(held_out) < eval_items:
        question = torch.randint(0, 10, (4096, DIGITS), generator=generator)
        answer = question.sort(dim=1).values
        separator = torch.full((len(question), 1), SEPARATOR)
        items = torch.cat([question, separator, answer], dim=1)
        # One multiset of digits in five is held out. It is known by its answer, read as a number and scrambled.
        number = answer @ 10 ** torch.arange(DIGITS)
        apart = (number * 2_654_435_761 >> 16) % 5 == 0
        train, held_out = torch.cat([train, items[~apart]]), torch.cat([held_out, items[apart]])
    return train[:train_items], held_out[:eval_items]


def split(items: Tensor) -> Batch:
    """Turn sequences (items, CONTEXT + 1) into tokens and next-token targets, with the question's targets ignored."""
    targets = items[:, 1:].clone()
    targets[:, :DIGITS] = IGNORE
    return items[:, :-1], targets


class Windows:
    """The endless sequence of accumulation windows; window `n` can be had at any time, in any order.

    An epoch is a fresh permutation, cut into micro-batches of `batch_size` (a tail smaller than that waits for the
    next epoch) and then into windows of `accumulation` micro-batches. The last window of an epoch may be short.
    """

    def __init__(self, items: Tensor, batch_size: int, accumulation: int, seed: int) -> None:
        self.items, self.batch_size, self.accumulation, self.seed = items, batch_size, accumulation, seed
        self.batches_per_epoch = len(items) // batch_size
        self.windows_per_epoch = -(-self.batches_per_epoch // accumulation)  # rounded up
        self._epoch, self._order = -1, torch.empty(0, dtype=torch.int64)

    def window(self, n: int, rank: int = 0, ranks: int = 1) -> list[Batch]:
        """The micro-batches of window `n`; with several ranks, this rank's equal share of each.

        Raises ConfigError if the ranks cannot share a micro-batch equally: their gradients are averaged, and that
        is the mean over all items only if every rank holds the same number of them.
        """
        if self.batch_size % ranks:
            raise ConfigError(f"batch_size = {self.batch_size} cannot be shared equally by {ranks} ranks")
        epoch, place = divmod(n, self.windows_per_epoch)
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
            self._epoch, self._order = epoch, torch.randperm(len(self.items), generator=generator).to(self.items.device)
        first = place * self.accumulation
        last = min(first + self.accumulation, self.batches_per_epoch)
        return [split(self.items[self._rows(batch)[rank::ranks]]) for batch in range(first, last)]

    def _rows(self, batch: int) -> Tensor:
        return self._order[batch * self.batch_size : (batch + 1) * self.batch_size]
