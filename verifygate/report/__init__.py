"""A report as text: pure functions from the data model to files, one module per format."""

from verifygate.report.findings import CHECK_FORMATS, render_findings
from verifygate.report.formats import FILE_NAMES, FORMATS, render
from verifygate.report.write import refuse_foreign, write_reports

__all__ = ["CHECK_FORMATS", "FILE_NAMES", "FORMATS", "refuse_foreign", "render", "render_findings", "write_reports"]
