"""Keeps what the operations of a few steps computed, so that another run can be compared with this one."""
