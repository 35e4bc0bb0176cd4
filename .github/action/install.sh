#!/usr/bin/env bash
# Installs Palimpsest from the action's own checkout, and uv where DataHub's MCP server is to be started with it.
set -euo pipefail

python -m pip install --quiet --disable-pip-version-check "$GITHUB_ACTION_PATH[datahub]"
if [ "$SOURCE" = datahub-mcp ] && ! command -v uvx >/dev/null; then
  python -m pip install --quiet --disable-pip-version-check uv
fi
