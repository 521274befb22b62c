"""Every table and figure of the five papers: what is run for them, and the pages that show it.

A paper is a folder with three modules:

- `published.py`: the paper's figures, as plain data;
- `cells.py`: `cells(journal)`, the pieces of work behind its tables, and the functions that do it;
- `page.py`: `CONTENTS`, the tables and figures it has, `page(journal)`, the lines of its page, and
  `draw(journal, folder)`, its pictures.

A page is a function of the journal alone, so it can be written at any time, also while half of the work is done.
`benchmarks/run_papers.py` is the command.
"""
