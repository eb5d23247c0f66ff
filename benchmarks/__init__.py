"""Speed and memory, measured beside the limit of copying the same matrix."""
