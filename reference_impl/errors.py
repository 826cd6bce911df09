"""What can go wrong in a run, by name. `train.main` prints these as one line and exits with 1."""


class TrainingError(Exception):
    """The base of every error that a run reports to its user."""


class ConfigError(TrainingError):
    """The configuration names an unknown key, or a value of the wrong type or out of range."""


class PrecisionUnavailableError(TrainingError):
    """This machine cannot do what the configuration asks for, and the configuration allows no fallback."""


class NonFiniteError(TrainingError):
    """Loss or gradients are inf or NaN, in a precision that has no scaler to skip the step."""


class ScaleCollapsedError(TrainingError):
    """The loss scale fell below its floor: the gradients are not too large for it, they are broken."""


class CheckpointError(TrainingError):
    """The checkpoint cannot be read, or belongs to another run than the one that is to go on."""


class MissingWandbError(TrainingError):
    """The configuration asks for Weights & Biases, which is not installed."""
