"""Everything that can change between two calls, and a test for each."""
