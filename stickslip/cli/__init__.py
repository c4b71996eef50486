"""The command line: one module per verb, and modules for printing, errors and parameters."""
