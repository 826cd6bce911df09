from .config import resolve
