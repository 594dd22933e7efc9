"""SQLite as Python has it, beside the tool in its sandbox.

make FILE             a database of a small shop
query FILE            statements as a JSON list of [sql, parameters] on standard input, their results as JSON
execute FILE          the same, and what they change stays; all of one statement or none
break FILE            a writer that is stopped in the middle: its journal stays, and half of what it wrote
check FILE            what `PRAGMA integrity_check` says, and everything that is in the database
"""

import json
import os
import sqlite3
import sys

SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, joined TEXT);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT UNIQUE, price REAL CHECK (price >= 0), picture BLOB);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer INTEGER NOT NULL REFERENCES customers (id),
    product INTEGER NOT NULL REFERENCES products (id),
    amount INTEGER NOT NULL DEFAULT 1,
    day TEXT
);
CREATE INDEX orders_by_customer ON orders (customer);
CREATE TABLE settings (key TEXT PRIMARY KEY, value ANY) WITHOUT ROWID;
CREATE VIEW spent AS
    SELECT c.name, sum(o.amount * p.price) AS total FROM orders o JOIN customers c ON c.id = o.customer
    JOIN products p ON p.id = o.product GROUP BY c.id;
INSERT INTO customers VALUES
    (1, 'Ada', 'London', '2024-01-05'), (2, 'Björn', 'Uppsala', '2024-02-29'), (3, 'Chiyo', '松島', NULL),
    (4, 'O''Hara', NULL, '2023-12-31'), (5, 'ada', 'london', '2025-07-01');
INSERT INTO products VALUES
    (1, 'pen', 1.5, x'00ff10'), (2, 'paper', 0.25, NULL), (3, 'press', 1e6, zeroblob(300)), (4, 'gift', 0, x'');
INSERT INTO settings VALUES ('big', 9223372036854775807), ('small', -9223372036854775808), ('real', 0.1), ('none', NULL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
    INSERT INTO orders (customer, product, amount, day)
    SELECT 1 + i % 5, 1 + i % 4, i % 7, date('2024-01-01', '+' || i || ' days') FROM n;
"""


def shown(value):
    if isinstance(value, bytes):
        hexadecimal = value[:256].hex()
        return {"hex": hexadecimal, "more_bytes": len(value) - 256} if len(value) > 256 else {"hex": hexadecimal}
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return {"real": "inf" if value > 0 else "-inf"}
    return value


def given(value):
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value


def run(connection, sql, parameters):
    cursor = connection.execute(sql, [given(value) for value in parameters])
    rows = [[shown(value) for value in row] for row in cursor]
    return {"columns": [column[0] for column in cursor.description or []], "rows": rows}


def main(what, path):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA foreign_keys = ON")
    if what == "make":
        connection.executescript(SHOP)
    elif what == "break":
        # So little room that what is changed is written before the transaction ends.
        connection.execute("PRAGMA cache_size = 2")
        connection.execute("PRAGMA cache_spill = 1")
        connection.execute("UPDATE orders SET day = 'half done'")
        os._exit(0)
    elif what == "check":
        [verdict] = connection.execute("PRAGMA integrity_check").fetchall()[:1]
        print(json.dumps({"verdict": verdict[0], "dump": list(connection.iterdump())}))
        return
    else:
        results = []
        for sql, parameters in json.load(sys.stdin):
            try:
                results.append(run(connection, sql, parameters))
                connection.commit()
            except (sqlite3.Error, sqlite3.Warning) as error:
                results.append({"error": str(error)})
                connection.rollback()
        print(json.dumps(results))
    connection.commit()


main(*sys.argv[1:])
