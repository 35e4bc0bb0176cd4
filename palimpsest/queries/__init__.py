"""What surfaces may ask: functions that return frozen views. They read through the store, and write nothing."""
