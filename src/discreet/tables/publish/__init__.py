"""From reports to what is published: estimates, intervals, the record, tables and pages."""
