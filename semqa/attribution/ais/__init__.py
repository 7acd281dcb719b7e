"""AIS (Rashkin et al. 2023): attributable to identified sources, as people and models rate it."""
