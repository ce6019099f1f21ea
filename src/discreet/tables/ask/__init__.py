"""The question, the data that it is about, and how the ledger identifies it."""
