"""What runs from a shell: the command `slimsvm`.

`app` has the commands and their options and imports nothing heavy, so that `--help` answers at once; what a command
does is in the module of its name.
"""
