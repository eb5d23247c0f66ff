"""The report page: a comparison as one HTML file that people can open, print and pass on.

The file loads nothing: style, script, pictures and the chosen calibrator itself are inside, and a policy in its head
forbids the browser to fetch anything. The same comparison gives the same page, byte for byte.
"""

from .page import to_html as to_html
from .page import write_report as write_report

__all__ = ["to_html", "write_report"]
