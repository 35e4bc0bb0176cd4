"""Palimpsest beside other memories: the same invented facts, inserted and asked for, in processor seconds."""
