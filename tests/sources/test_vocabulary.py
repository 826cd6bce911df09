"""The words of a file: told without its text, as that may have been let go of."""

from __future__ import annotations

import pytest

from verifygate.sources.file import SourceFile
from verifygate.sources.vocabulary import Vocabulary

TEXT = "scaler.step(optimizer)\nfp16_scale = größe_x2(r'half')\n"


@pytest.mark.parametrize("word", ["scaler", "caler", "fp16_scale", "16", "e_x2", "half", "o", ".step(", "scaler.s", ""])
def test_what_stands_in_the_text_is_there(word: str):
    vocabulary = Vocabulary(SourceFile("train.py", TEXT.encode()))

    assert vocabulary.has(word.encode())
    assert vocabulary.has(b"unscale_", word.encode())


@pytest.mark.parametrize("word", ["steps", "fp16scale", "step optimizer", ".step[", "Half"])
def test_what_does_not_is_not(word: str):
    assert not Vocabulary(SourceFile("train.py", TEXT.encode())).has(word.encode())


def test_words_of_other_letters_are_looked_for_in_the_text():
    assert Vocabulary(SourceFile("train.py", TEXT.encode())).has("größe".encode())


def test_the_text_is_read_once_for_all_words():
    file = SourceFile("train.py", TEXT.encode())
    vocabulary = Vocabulary(file)
    assert vocabulary.has(b"scaler")
    file.data = b"let go of"

    assert vocabulary.has(b"optimizer")
    assert not vocabulary.has(b"unscale_", b"let")
