#!/usr/bin/env bash
# Scan, consolidate, verify, publish, notify, as the settings say; silent when nothing changed. Passes the exit code on.
set -euo pipefail
. "$(dirname "$0")/options.sh"

set --
if [ -n "$SOURCE" ]; then
  set -- "$@" "$SOURCE"
fi
if [ -n "$FAIL_ON" ]; then
  set -- "$@" --fail-on "$FAIL_ON"
fi
code=0
palimpsest "${options[@]}" --quiet run "$@" || code=$?
echo "exit-code=$code" >> "$GITHUB_OUTPUT"
exit "$code"
