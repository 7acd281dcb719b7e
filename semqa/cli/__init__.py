"""The command line: one file a command, thin; `semqa.cli.main` puts them together."""
