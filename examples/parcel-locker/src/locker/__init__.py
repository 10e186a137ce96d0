"""A wall of boxes that keeps parcels until somebody comes with the code."""
