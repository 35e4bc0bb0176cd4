"""The console: pages about the memory, rendered here, read-only. Needs the extra `console`."""
