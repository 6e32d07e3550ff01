"""``python -m invite_admin`` is the same as ``invite``."""

from invite_admin.entry import main

main()
