"""The command line: one thin module per command, assembled in `semqa.cli.main`."""
