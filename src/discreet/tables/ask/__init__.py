"""What is asked, of what, and how the ledger tells it apart."""
