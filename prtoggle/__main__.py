"""``python -m prtoggle`` is the command ``prtoggle``."""

from prtoggle.cli import main

if __name__ == "__main__":
    main(prog_name="prtoggle")
