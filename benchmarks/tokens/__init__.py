"""What answers cost an agent: the same questions by DataHub's own MCP server and by ours."""
