"""The demonstration: an SVC found by a search beside models of a few vectors, as a table and a picture.

Half a minute, no download. ``python examples/demo.py --output picture.png`` says where the picture goes.
"""

from slimsvm.cli.demo import main

if __name__ == "__main__":
    main()
