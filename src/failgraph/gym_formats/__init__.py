"""What Gym's releases write, read as failure records. Pure: needs neither the SDK nor Gym."""
