"""`python -m hikidashi` is the `hikidashi` command."""

from hikidashi.cli import main

if __name__ == "__main__":
    main()
