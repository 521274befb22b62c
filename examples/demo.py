"""The demonstration
=================

An SVC found by a search beside models of a few vectors, as a table and a picture. Half a minute, no download;
``python examples/demo.py --output picture.png`` says where the picture goes. It is not run for this page, because its
table has times, which are worth something on a quiet machine only.
"""

# sphinx_gallery_thumbnail_path = 'docs/pictures/demo.png'

from slimsvm.cli.demo import main

if __name__ == "__main__":
    main()
