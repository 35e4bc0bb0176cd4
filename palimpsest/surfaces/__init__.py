"""What people, programs and agents touch: every surface is a projection of beliefs."""
