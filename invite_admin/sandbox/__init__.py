"""An embedded PostgreSQL to try every command on, with the structure and test users inside."""
