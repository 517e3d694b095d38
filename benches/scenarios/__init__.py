"""Scenarios of the sandbox: one small file each."""
