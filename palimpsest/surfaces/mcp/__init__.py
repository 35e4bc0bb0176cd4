"""The MCP server: by which agents ask, and leave behind what they saw. No tool of it can write a belief (R10)."""
