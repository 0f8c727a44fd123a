"""Cases of the other rules (filled by the family modules)."""

TABLE = {}
