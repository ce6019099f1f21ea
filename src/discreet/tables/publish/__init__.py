"""From reports to what is published: intervals, the record, tables and pages."""
