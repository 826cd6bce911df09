"""What the templates of the Markdown pages call: one class for each page, and what all pages share."""
