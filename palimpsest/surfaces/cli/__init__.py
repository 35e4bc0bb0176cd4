"""The command line: one file a command, assembled in app.py."""
