"""Patch functions of torch, and find the frame of the project that called one."""
