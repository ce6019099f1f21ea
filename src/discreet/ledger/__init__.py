"""The ledger: budgets, charges and stored answers, chained by hashes, in SQLite or PostgreSQL."""
