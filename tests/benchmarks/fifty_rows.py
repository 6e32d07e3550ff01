"""What a ten-line script spends on fifty codes: the least that these two libraries cost."""

import hashlib
import os
import secrets

import psycopg
import sqlalchemy as sa

engine = sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(os.environ["U"]))
codes = [secrets.token_hex(4).upper() for _ in range(50)]
rows = [{"h": hashlib.sha256(c.encode()).hexdigest(), "m": f"JYOTISH-****-{c[4:]}"} for c in codes]
insert = "insert into public.redemption_codes (code_hash, code_mask, credits) values (:h, :m, 10)"
with engine.begin() as connection:
    connection.execute(sa.text(insert), rows)
