"""Fuzzing of the shell's C sources, built natively with sanitizers. The command is `python -m wasm_modules.shell.fuzz`."""
