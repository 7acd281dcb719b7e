"""``semqa eval``: one command per metric of document answers or attribution."""
