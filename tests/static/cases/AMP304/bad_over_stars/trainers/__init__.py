from .base import *
from .settings import *
