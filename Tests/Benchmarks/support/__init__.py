"""What the benchmarks share: processes and their CPU time, servers to compare, load generators, the report."""
