"""The task is what it says, held-out items are new, and windows come out the same whoever asks."""

from __future__ import annotations

import pytest
import torch

from reference_impl.data import CONTEXT, DIGITS, IGNORE, SEPARATOR, Windows, make_items, split
from reference_impl.errors import ConfigError


def test_the_answer_is_the_question_sorted() -> None:
    train, held_out = make_items(500, 100)
    assert train.shape == (500, CONTEXT + 1)
    assert held_out.shape == (100, CONTEXT + 1)
    question, separator, answer = train.split([DIGITS, 1, DIGITS], dim=1)
    assert torch.equal(question.sort(dim=1).values, answer)
    assert (separator == SEPARATOR).all()


def test_no_rearrangement_of_a_held_out_item_is_in_the_training_set() -> None:
    train, held_out = make_items(12_000, 2_000)
    seen = set(map(tuple, train[:, -DIGITS:].tolist()))
    assert len(seen) > 5_000
    assert seen.isdisjoint(map(tuple, held_out[:, -DIGITS:].tolist()))


def test_asking_for_fewer_items_gives_the_first_of_the_same() -> None:
    many, _ = make_items(6_000, 10)
    few, _ = make_items(500, 900)
    assert torch.equal(many[:500], few)


def test_only_the_answer_is_a_target() -> None:
    items, _ = make_items(4, 4)
    tokens, targets = split(items)
    assert torch.equal(tokens, items[:, :-1])
    assert (targets[:, :DIGITS] == IGNORE).all()
    assert torch.equal(targets[:, DIGITS:], items[:, -DIGITS:])


@pytest.fixture
def windows() -> Windows:
    items, _ = make_items(70, 10)  # 7 micro-batches of 10: windows of 3, 3 and 1
    return Windows(items, batch_size=10, accumulation=3, seed=1)


def test_the_last_window_of_an_epoch_is_short(windows: Windows) -> None:
    assert [len(windows.window(n)) for n in range(6)] == [3, 3, 1, 3, 3, 1]


def test_an_epoch_shows_every_item_once_and_the_next_one_in_another_order(windows: Windows) -> None:
    def epoch(first: int) -> list[tuple[int, ...]]:
        return [
            tuple(row) for n in range(first, first + 3) for tokens, _ in windows.window(n) for row in tokens.tolist()
        ]

    assert sorted(epoch(0)) == sorted(map(tuple, windows.items[:, :-1].tolist())) == sorted(epoch(3))
    assert epoch(0) != epoch(3)


@pytest.mark.requirement("CKPT-02")
def test_a_window_does_not_depend_on_what_was_drawn_before(windows: Windows) -> None:
    in_order = [windows.window(n) for n in range(5)]
    for n in (4, 0, 3):
        for (tokens, _), (again, _) in zip(in_order[n], windows.window(n), strict=True):
            assert torch.equal(tokens, again)


def test_ranks_share_each_micro_batch(windows: Windows) -> None:
    whole, halves = windows.window(1), [windows.window(1, rank, 2) for rank in (0, 1)]
    for (tokens, _), (even, _), (odd, _) in zip(whole, *halves, strict=True):
        assert torch.equal(tokens[0::2], even)
        assert torch.equal(tokens[1::2], odd)


def test_ranks_that_cannot_share_equally_are_refused(windows: Windows) -> None:
    with pytest.raises(ConfigError, match="cannot be shared equally by 3 ranks"):
        windows.window(0, 0, 3)
