"""structnet."""
