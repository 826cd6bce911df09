"""Starts one of two trainings."""

import sys

from on_one import train_on_one
from sharded import train_sharded


def main(settings):
    if "--one" in sys.argv or settings.get("one", False):
        train_on_one(settings)
    elif settings.get("shard", False):
        train_sharded(settings)


if __name__ == "__main__":
    main({"shard": True})
