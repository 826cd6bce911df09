"""Runs every case in a section of its own; it is started under the recorder."""

import sys
import warnings

import forwards
import gan
import order
import reads
import regions
import weights
import writes
from world import World

warnings.simplefilter("ignore")
recording = sys.modules["verifygate_instruments.recorder.install"].current
for module in (order, gan, regions, forwards, writes, weights, reads):
    for name, case in list(vars(module).items()):
        if getattr(case, "__module__", "") == module.__name__ and not name.startswith("_") and type(case) is not type:
            recording.begin(f"{module.__name__}.{name}")
            world = World(getattr(case, "has_scaler", True))
            try:
                case(world)
            except Exception as error:
                print(name, type(error).__name__, error)
