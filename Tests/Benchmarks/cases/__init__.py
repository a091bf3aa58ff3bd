"""The benchmarks, one module each: `run(bench)` measures and returns a Result."""
