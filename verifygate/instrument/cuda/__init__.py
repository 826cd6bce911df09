"""Emulate CUDA on a CPU: devices, autocast's policy, and what the emulation lacks."""
