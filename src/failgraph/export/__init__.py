"""What Gym saved and what journals hold, as traces in a file or at an endpoint, with an account of every row."""
