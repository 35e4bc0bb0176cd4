"""DataHub's formats: each module reads its own wire shape into aspect values."""
