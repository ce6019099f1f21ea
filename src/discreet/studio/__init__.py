"""The studio: the mechanisms on a web page of this machine. See `discreet studio`."""
