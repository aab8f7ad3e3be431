"""``python -m benchmarks`` is the command line."""

from .commands import main

if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
