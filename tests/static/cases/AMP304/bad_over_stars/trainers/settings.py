from .base import *


class Settings:
    amp = "bf16"
