"""Private tables: counts released from data, with a budget that survives crashes."""
