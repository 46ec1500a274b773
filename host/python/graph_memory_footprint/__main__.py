"""Runs the program in the place of this process."""

import os
import subprocess
import sys

from graph_memory_footprint import program


def main():
    arguments = [program()] + sys.argv[1:]
    if os.name == "posix":
        # The program gets this process's streams, signals and exit code.
        os.execv(arguments[0], arguments)
    sys.exit(subprocess.call(arguments))


if __name__ == "__main__":
    main()
