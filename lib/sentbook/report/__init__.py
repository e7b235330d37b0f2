"""The report room: tables, figures, error examples and generated pages.

Numbers are multiplied by 100 here and only here.
"""
