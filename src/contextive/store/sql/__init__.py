"""What the SQL stores share: the queries, the values of their columns, and the search indexes that they keep as files.

The statements are written in a dialect that SQLite runs unchanged; the PostgreSQL store translates its few differences.
Each store has its own schema, migrations, connections and errors.
"""
