"""Scenarios about the policy language: decisions, compilation, the author's tools."""
