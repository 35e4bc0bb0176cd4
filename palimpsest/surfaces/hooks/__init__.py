"""Hooks of agents: what is said at the start of a session and to a prompt, in time or not at all; and their set-up.

Nothing here imports SQLAlchemy, pydantic or a layer that does: an agent waits for the answer. Errors are counted, never
shown.
"""
