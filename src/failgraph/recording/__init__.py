"""Recording failures in a user's process."""
