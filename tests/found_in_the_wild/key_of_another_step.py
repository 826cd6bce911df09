"""A test step that reads a key which the validation step, whose result it takes, never puts in."""

from __future__ import annotations


class Model:
    """A model whose test step renames what its validation step returns."""

    def validation_step(self) -> dict[str, float]:
        return {"val_loss": 0.1, "val_error": 0.2}

    def test_step(self) -> dict[str, float]:
        logs = self.validation_step()
        return {"test_loss": logs["val_loss"], "test_error": logs["test_error"]}


def main() -> None:
    try:
        Model().test_step()
    except KeyError as error:
        print(f"KeyError: {error}")


if __name__ == "__main__":
    main()
