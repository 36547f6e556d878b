"""A fast and an exact model in one file, under a statistical guarantee."""
