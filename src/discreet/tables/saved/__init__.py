"""A release as files: written, read, made again from its record and compared."""
