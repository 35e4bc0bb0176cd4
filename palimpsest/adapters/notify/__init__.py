"""Ways to reach people, each speaking its own wire format."""
