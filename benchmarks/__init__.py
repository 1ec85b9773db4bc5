"""What prtoggle costs, as ratios and differences measured in one run. `make bench` writes docs/benchmarks.md."""
