"""The papers, a folder each: settings, rows of tables, findings, claims and printed numbers."""
