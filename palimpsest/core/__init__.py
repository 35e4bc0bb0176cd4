"""What Palimpsest exists for, pure: no input or output, clock, randomness or logging."""
