"""`python -m semqa` is `semqa`."""

from semqa.cli.main import main

if __name__ == "__main__":
    main()
