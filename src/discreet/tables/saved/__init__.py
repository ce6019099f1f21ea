"""What is stored and saved: answers in the ledger, files, and both checked again."""
