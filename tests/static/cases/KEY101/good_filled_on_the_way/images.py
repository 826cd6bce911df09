"""A class between: its method takes the dict of the class above and puts a key in. Nothing here is about AMP either."""

from base import Data


class Images(Data):
    classes = 10

    def shared(self):
        options = super().shared()
        options["classes"] = self.classes
        return options
