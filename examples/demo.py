"""The demonstration
=================

An SVC found by a search beside models of a few vectors, as a table, a picture and a report. Less than a minute, no
download; the same as ``slimsvm demo``. ``python examples/demo.py folder`` says where picture and report go. It is not
run for this page, because its table has times, which are worth something on a quiet machine only.
"""

# sphinx_gallery_thumbnail_path = 'docs/pictures/demo.png'

import sys
from pathlib import Path

from slimsvm.cli.demo import run

if __name__ == "__main__":
    run(Path(*sys.argv[1:]))
