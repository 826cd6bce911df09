"""A module of a package: what it imports by a bare name is the library, not the module beside it of the same name."""

import torch
from lightglue import LightGlue

from .base import Base


class Pretrained(Base):
    def __init__(self):
        self.net = LightGlue()

    def _forward(self, data):
        with torch.autocast("cuda"):
            return self.net({"image0": data["view0"]})
