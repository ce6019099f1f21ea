"""`python -m discreet`: the command line, where `discreet` itself is not on the path."""

from .cli import main

if __name__ == "__main__":
    main()
