"""Holds the conversation of steps.txt with python-oracledb in its thin mode. Arguments: steps.txt, port, service.

Writes a line for each step: its name, a tab, what was heard. The other programs here do the same with their drivers.
"""

import datetime
import re
import sys
import threading

import oracledb

STEPS, PORT, SERVICE = sys.argv[1:4]
DSN = f"127.0.0.1:{PORT}/{SERVICE}"
TYPES = {"n": oracledb.DB_TYPE_NUMBER, "s": oracledb.DB_TYPE_VARCHAR, "c": oracledb.DB_TYPE_CHAR, "d": oracledb.DB_TYPE_TIMESTAMP,
         "r": oracledb.DB_TYPE_RAW, "b": oracledb.DB_TYPE_BOOLEAN}  # fmt: skip


def connect(user="u", password="Tiger1", **more):
    return oracledb.connect(user=user, password=password, dsn=DSN, **more)


def value(kind, text):
    if kind == "n":
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    if kind == "s*":
        return "y" * int(text)
    if kind == "d":
        return datetime.datetime.fromisoformat(text)
    if kind == "r":
        return bytes.fromhex(text)
    if kind == "b":
        return text == "true"
    return text


def bound(k, key, rest):
    kind, _, text = rest.partition(" ")
    if kind == "a":
        numbers = [float(n) for n in text.split()]
        return k.arrayvar(oracledb.DB_TYPE_NUMBER, numbers)
    if key == "bind" and kind != "c":
        return value(kind, text)
    size = 200 if kind in "scr" else 0
    v = k.var(TYPES[kind], size)
    if key in ("bind", "inout"):
        v.setvalue(0, value(kind, text))
    return v


def shown(v):
    if v is None:
        return "null"
    if isinstance(v, bool):
        return str(v).lower()
    if isinstance(v, float):
        return repr(v).removesuffix(".0")
    if isinstance(v, str):
        return f"'{v}'"
    if isinstance(v, bytes):
        return "0x" + v.hex()
    if isinstance(v, datetime.datetime):
        return v.isoformat(" ").rstrip("0") if v.microsecond else v.isoformat(" ")
    return str(v)


def rows(all_rows):
    return " / ".join(" | ".join(shown(v) for v in row) for row in all_rows)


def code(e):
    return e.args[0].full_code


def values_of(row):
    cells = [cell.strip().split(" ", 1) for cell in row.split(";")]
    return [None if kind == "null" else value(kind, text) for kind, text in cells]


class Conversation:
    def __init__(self):
        self.c = connect()
        self.k = self.c.cursor()

    def do(self, op, text, more):
        self.outs = []
        binds = []
        for key, rest in more:
            if key != "row":
                v = bound(self.k, key, rest)
                if key in ("out", "inout"):
                    self.outs.append(v)
                binds.append(v)
        table = [values_of(rest) for key, rest in more if key == "row"]
        return getattr(self, "do_" + op)(text, binds, table)

    def got(self, v):
        v = v.getvalue()
        return v[0] if isinstance(v, list) and len(v) == 1 else v

    def do_logon(self, text, binds, table):
        user, password = text.split()
        connect(user, password).close()
        return "open"

    def do_query(self, sql, binds, table):
        self.k.execute(sql, binds)
        return rows(self.k.fetchall())

    def do_exec(self, sql, binds, table):
        self.k.execute(sql, binds)
        got = " | ".join(shown(self.got(v)) for v in self.outs)
        return f"{self.k.rowcount} : {got}" if got else str(self.k.rowcount)

    def do_each(self, sql, binds, table):
        counts = []
        for row in table:
            self.k.execute(sql, row)
            counts.append(str(self.k.rowcount))
        return " ".join(counts)

    def do_many(self, sql, binds, table):
        self.k.executemany(sql, table)
        return str(self.k.rowcount)

    def do_other(self, sql, binds, table):
        with connect("other") as other:
            return rows(other.cursor().execute(sql).fetchall())

    def do_commit(self, text, binds, table):
        self.c.commit()

    def do_rollback(self, text, binds, table):
        self.c.rollback()

    def do_position(self, sql, binds, table):
        try:
            self.k.execute(sql)
        except oracledb.Error as e:
            return f"{code(e)} at {e.args[0].offset}"

    def do_returning(self, sql, binds, table):
        v = self.k.var(int)
        self.k.execute(sql, [v])
        return " ".join(str(n) for n in v.getvalue())

    def do_counts(self, sql, binds, table):
        self.k.executemany(sql, table, arraydmlrowcounts=True)
        return " ".join(str(n) for n in self.k.getarraydmlrowcounts())

    def do_batch(self, sql, binds, table):
        self.k.executemany(sql, table, batcherrors=True)
        return ", ".join(f"{e.offset} {e.full_code}" for e in self.k.getbatcherrors())

    def do_block(self, sql, binds, table):
        self.k.execute(sql, binds)
        return " | ".join(shown(v.getvalue()) for v in self.outs)

    def do_refcursor(self, sql, binds, table):
        v = self.k.var(oracledb.DB_TYPE_CURSOR)
        self.k.execute(sql, [v])
        return rows(v.getvalue().fetchall())

    def do_nested(self, sql, binds, table):
        # A cursor of a row is closed explicitly: the driver deadlocks with itself when its statement cache closes it.
        said = []
        for a, b in self.k.execute(sql):
            said.append(f"{shown(a)} : {rows(b.fetchall())}")
            b.close()
        return " / ".join(said)

    def do_nestedsum(self, sql, binds, table):
        # The driver does not tell the server that they are closed: their resources are released at their end.
        sums = []
        with self.c.cursor() as k:
            k.arraysize = k.prefetchrows = 20
            for _, b in k.execute(sql):
                sums.append(sum(i for i, in b.fetchall()))
                b.close()
        return f"{len(sums)} rows, {sum(sums)}"

    def do_implicit(self, sql, binds, table):
        self.k.execute(sql)
        return " / ".join(rows(r.fetchall()) for r in self.k.getimplicitresults())

    def do_fetch(self, text, binds, table):
        n, sql = text.split(" ", 1)
        with self.c.cursor() as k:
            k.arraysize = k.prefetchrows = int(n)
            all_rows = k.execute(sql).fetchall()
        return f"{len(all_rows)} rows, {sum(row[0] for row in all_rows)}"

    def do_length(self, sql, binds, table):
        return str(len(self.k.execute(sql).fetchone()[0]))

    def do_describe(self, sql, binds, table):
        self.k.parse(sql)
        return " ".join(d[0] for d in self.k.description)

    def do_parse(self, sql, binds, table):
        self.k.parse(sql)

    def do_scroll(self, sql, binds, table):
        with self.c.cursor(scrollable=True) as k:
            k.execute(sql)
            said = []
            for how, by in [("last", 0), ("first", 0), ("absolute", 4), ("relative", 2), ("relative", -1)]:
                k.scroll(by, mode=how)
                said.append(("prior" if by < 0 else how) + f" {k.fetchone()[0]}")
        return ", ".join(said)

    def do_change(self, sql, binds, table):
        return ", ".join(rows(self.k.execute(sql, row).fetchall()) for row in table)

    def do_cancel(self, sql, binds, table):
        timer = threading.Timer(0.3, self.c.cancel)
        timer.start()
        try:
            self.k.execute(sql)
        finally:
            timer.join()

    def do_module(self, text, binds, table):
        self.c.module, self.c.action = text.split()

    def do_lastrowid(self, sql, binds, table):
        self.k.execute(sql)
        return rows(self.k.execute("select id from kinds where rowid = :1", [self.k.lastrowid]).fetchall())

    def do_autocommit(self, sql, binds, table):
        self.c.autocommit = True
        self.k.execute(sql)
        self.c.autocommit = False

    def do_ping(self, text, binds, table):
        self.c.ping()
        return "alive"

    def do_newpassword(self, text, binds, table):
        user, old, new = text.split()
        connect(user, old, newpassword=new).close()
        with connect(user, new) as c:
            return c.cursor().execute("select user from dual").fetchone()[0]

    def do_proxy(self, text, binds, table):
        user, password, through = text.split()
        with connect(f"{user}[{through}]", password) as c:
            return " ".join(c.cursor().execute("select user, sys_context('userenv', 'proxy_user') from dual").fetchone())


def steps():
    for text in re.split(r"\n\n+", open(STEPS, encoding="utf-8").read()):
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        if lines:
            yield lines[0].strip("[]"), [line.partition(" ")[::2] for line in lines[1:] if not line.startswith("=")]


def main():
    conversation = Conversation()
    for name, lines in steps():
        said = None
        try:
            while lines:
                (op, text), lines = lines[0], lines[1:]
                more = []
                while lines and lines[0][0] in ("bind", "null", "out", "inout", "row"):
                    more.append(lines[0])
                    lines = lines[1:]
                said = conversation.do(op, text, more)
        except oracledb.Error as e:
            said = code(e)
        except Exception as e:
            said = f"{type(e).__name__}: {e}"
        print(f"{name}\t{said}", flush=True)


main()
