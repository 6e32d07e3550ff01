"""One module a command; each has its ``command``, and its name is the module's."""
