#!/usr/bin/env bash
# Tells in the job summary, as Markdown, what this run found.
set -euo pipefail
. "$(dirname "$0")/options.sh"

changes() {
  palimpsest "${options[@]}" changes --since last --format markdown
}

{
  echo "### Palimpsest"
  echo
  if [ "$EXIT_CODE" = 6 ]; then
    echo "**The gate tripped: exit code 6.**"
    echo
  fi
  case "$EXIT_CODE" in
    0 | 6) changes ;;
    1)
      echo "**Something failed, or the run stopped before writing: exit code 1. See the log of the step.**"
      echo
      echo "What the newest reading in the memory changed:"
      echo
      changes
      ;;
    2) echo "**The settings or the inputs are wrong: exit code 2. Nothing was read.**" ;;
    3) echo "**DataHub could not be read: exit code 3. Nothing was written; the next run catches up.**" ;;
    4) echo "**The store could not be used: exit code 4.**" ;;
    *) echo "**The run ended with exit code $EXIT_CODE.**" ;;
  esac
} >> "$GITHUB_STEP_SUMMARY"
