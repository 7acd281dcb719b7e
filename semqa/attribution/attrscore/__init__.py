"""AttrScore (Yue et al. 2023): attributable, extrapolatory or contradictory."""
