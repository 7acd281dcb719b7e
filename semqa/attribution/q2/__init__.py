"""Q² (Honovich et al. 2021): consistency with knowledge, by questions asked and answered."""
