"""What NeMo Gym's releases say in their own words, and what that means as a failure record. Pure: no SDK, no Gym."""
