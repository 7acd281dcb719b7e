"""Answer and score with Ray, on this machine or on a cluster. Start with `workers.open_ray`."""
