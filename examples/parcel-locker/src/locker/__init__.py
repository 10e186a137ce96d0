"""A wall of boxes that stores parcels until somebody enters the code."""
