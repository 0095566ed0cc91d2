#!/usr/bin/env python3
"""The cost of ordinary operations of an application, compared with PostgreSQL, in interleaved rounds.

The drivers are python-oracledb and psycopg, go-ora and pgx, or ojdbc and pgjdbc.

Usage: scripts/driver_speed.py [--language python|go|java] [--classpath JARS] [--latchwork PROGRAM] [--postgres BIN]
                               [--rounds N] [--only WORD]

Both databases are created for the run in a folder below TMPDIR, on the client's machine; the client connects by TCP on
loopback. Needs the packages oracledb and psycopg, and PostgreSQL's programs; for Go its toolchain, which fetches the
drivers; for Java both drivers' jars. Prints for each operation the median of the rounds, per second, and the ratio of
Latchwork's rate to PostgreSQL's: above 1 Latchwork is faster. Where one connection does the work, the CPU time of its
server process in microseconds per operation follows.
"""

import argparse
import multiprocessing
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import oracledb
import psycopg

ROWS = 1_000_000


class Latchwork:
    name = "Latchwork"

    def __init__(self, program, folder):
        self.program, self.folder = program, folder / "latchwork"
        subprocess.run([program, "start", "--dir", self.folder, "--param", "local_listener=0", "--param", "db_cache_size=512M"],
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        for _ in range(100):
            port = re.search(r"Listening on: .*PORT=(\d+)", (self.folder / "alert.log").read_text())
            if port:
                break
            time.sleep(0.1)
        self.dsn = f"127.0.0.1:{port[1]}/latchwrk"
        setup = "create user u identified by Tiger1;\ngrant create session, create table, unlimited tablespace to u;\n"
        setup += "grant select on v_$process to u;\ngrant select on v_$session to u;\nexit\n"
        subprocess.run([program, "sql", "-s", "--dir", self.folder, "/", "as", "sysdba"], input=setup, text=True, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip

    def connect(self):
        return oracledb.connect(user="u", password="Tiger1", dsn=self.dsn)

    def fill(self, c):
        k = c.cursor()
        k.execute("create table big (id number(9) primary key, name varchar2(20))")
        k.execute(f"insert into big select level, 'name ' || level from dual connect by level <= {ROWS}")
        k.execute("create table small (id number(9) primary key, name varchar2(40))")
        c.commit()

    def server(self, c):
        """The process that serves a connection."""
        k = c.cursor()
        k.execute("select p.spid from v$process p join v$session s on s.paddr = p.addr where s.sid = sys_context('userenv', 'sid')")
        return int(k.fetchone()[0])

    one = "select name from big where id = :1"
    insert = "insert into small values (:1, :2)"
    update = "update small set name = :1 where id = :2"
    delete = "delete from small where id = :1"
    dual = "select 1 from dual"

    @staticmethod
    def cursor(c, size):
        k = c.cursor()
        k.arraysize = k.prefetchrows = size
        return k

    array_cursor = cursor

    def stop(self):
        subprocess.run([self.program, "stop", "--dir", self.folder], stdout=subprocess.DEVNULL)


class Postgres:
    name = "PostgreSQL"

    def __init__(self, bin_folder, folder):
        self.bin, self.data = pathlib.Path(bin_folder), folder / "postgres"
        self.as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.data.mkdir()
        if self.as_user:
            shutil.chown(self.data, "postgres", "postgres")
        self.run("initdb", "-D", self.data, "-U", "u", "-A", "scram-sha-256", "--pwfile", self.password(folder), "-E", "UTF8")
        with open(self.data / "postgresql.conf", "a") as conf:
            conf.write(f"port = {self.port}\nlisten_addresses = '127.0.0.1'\nshared_buffers = 512MB\nunix_socket_directories = '{self.data}'\n")
        self.run("pg_ctl", "-D", self.data, "-w", "-l", self.data / "log", "start")

    def password(self, folder):
        file = folder / "password"
        file.write_text("Tiger1\n")
        return file

    def run(self, program, *words):
        subprocess.run([*self.as_user, self.bin / program, *words], check=True, stdout=subprocess.DEVNULL)

    def connect(self):
        return psycopg.connect(host="127.0.0.1", port=self.port, user="u", password="Tiger1", dbname="postgres")

    def fill(self, c):
        c.execute("create table big (id int primary key, name varchar(20))")
        c.execute(f"insert into big select n, 'name ' || n from generate_series(1, {ROWS}) n")
        c.execute("create table small (id int primary key, name varchar(40))")
        c.commit()
        c.autocommit = True
        c.execute("vacuum analyze big")
        c.autocommit = False

    def server(self, c):
        return c.info.backend_pid

    one = "select name from big where id = %s"
    insert = "insert into small values (%s, %s)"
    update = "update small set name = %s where id = %s"
    delete = "delete from small where id = %s"
    dual = "select 1"

    @staticmethod
    def cursor(c, size):
        """PostgreSQL sends all rows, however many the client requests."""
        return c.cursor()

    @staticmethod
    def array_cursor(c, size):
        return ArrayCursor(c, size)

    def stop(self):
        self.run("pg_ctl", "-D", self.data, "-m", "fast", "stop")


class ArrayCursor:
    """A server-side cursor of PostgreSQL, whose rows are fetched in arrays."""

    def __init__(self, c, size):
        self.c, self.size = c, size

    def execute(self, sql):
        self.k = self.c.cursor(name="arrays")
        self.k.execute(sql)

    def fetchall(self):
        rows = []
        while more := self.k.fetchmany(self.size):
            rows += more
        self.k.close()
        return rows


def single(db, c, times):
    k = c.cursor()
    for n in range(times):
        k.execute(db.one, (n * 7919 % ROWS + 1,))
        k.fetchone()


def one_connection(db, c):
    single(db, c, 5000)
    return 5000


def worker(db, times, go, done):
    with db.connect() as c:
        single(db, c, 10)
        done.put(None)
        go.wait()
        single(db, c, times)
        done.put(None)


def sixteen(db, c):
    """The rows, and the time from the common start to the end of the last process: (rows, seconds)."""
    go, done = multiprocessing.Event(), multiprocessing.Queue()
    all_of_them = [multiprocessing.Process(target=worker, args=(db, 1000, go, done)) for _ in range(16)]
    for p in all_of_them:
        p.start()
    for _ in all_of_them:
        done.get()
    begin = time.perf_counter()
    go.set()
    for _ in all_of_them:
        done.get()
    took = time.perf_counter() - begin
    for p in all_of_them:
        p.join()
    return 16_000, took


def a_million(size, both=False):
    """Rows in arrays of that size; from PostgreSQL all at once, or from a server-side cursor if `both` fetch arrays."""

    def task(db, c):
        k = db.array_cursor(c, size) if both else db.cursor(c, size)
        k.execute("select id, name from big")
        assert len(k.fetchall()) == ROWS
        return ROWS

    return task


def array(db, c, sql, rows):
    c.cursor().executemany(sql, rows)
    c.commit()
    return len(rows)


def inserts(db, c):
    c.cursor().execute("delete from small")
    c.commit()
    begin = time.perf_counter()
    n = array(db, c, db.insert, [(n, f"name {n}") for n in range(10_000)])
    return n, time.perf_counter() - begin


def updates(db, c):
    return array(db, c, db.update, [(f"other {n}", n) for n in range(10_000)])


def deletes(db, c):
    return array(db, c, db.delete, [(n,) for n in range(10_000)])


def connects(db, c):
    for _ in range(50):
        with db.connect() as other:
            other.cursor().execute(db.dual).fetchone()
    return 50


TASKS = {
    "single-row select, one connection": one_connection,
    "single-row select, sixteen": sixteen,
    "a million rows by 100, the default": a_million(100),
    "a million rows by 1,000": a_million(1000),
    "a million rows by 5,000": a_million(5000),
    "both by arrays of 100": a_million(100, both=True),
    "both by arrays of 1,000": a_million(1000, both=True),
    "both by arrays of 5,000": a_million(5000, both=True),
    "array insert, rows": inserts,
    "array update, rows": updates,
    "array delete, rows": deletes,
    "connect, select, close": connects,
}


# The names of the tasks in the programs of the other languages.
GO_TASKS = {
    "single-row select, prepared": "prepared",
    "single-row select, as a text": "one",
    "single-row select, sixteen": "sixteen",
    "a million rows by 25, the default": "million 25",
    "a million rows by 1,000": "million 1000",
    "a million rows by 5,000": "million 5000",
    "array insert, rows": "array insert",
    "array update, rows": "array update",
    "array delete, rows": "array delete",
    "connect, select, close": "connects",
}
JAVA_TASKS = {
    "single-row select, one connection": "prepared",
    "single-row select, sixteen": "sixteen",
    "a million rows, the drivers' defaults": "million 0",
    "a million rows, both by 100": "million 100",
    "a million rows, both by 1,000": "million 1000",
    "a million rows, both by 5,000": "million 5000",
    "array insert, rows": "array insert",
    "array update, rows": "array update",
    "array delete, rows": "array delete",
    "connect, select, close": "connects",
}


class Client:
    """A program in another language that performs the tasks."""

    def __init__(self, language, classpath, folder, both):
        here = pathlib.Path(__file__).resolve().parent / "driver_speed"
        latchwork, postgres = both
        if language == "go":
            subprocess.run(["go", "build", "-o", folder / "client", "."], cwd=here / "go", check=True)
            words = [folder / "client", f"oracle://u:Tiger1@{latchwork.dsn}?PREFETCH_ROWS=%d",
                     f"postgres://u:Tiger1@127.0.0.1:{postgres.port}/postgres"]  # fmt: skip
        else:
            words = ["java", "-cp", classpath, here / "Speed.java", f"jdbc:oracle:thin:@//{latchwork.dsn}",
                     f"jdbc:postgresql://127.0.0.1:{postgres.port}/postgres"]  # fmt: skip
        self.program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, db, task):
        self.program.stdin.write(f"{db.name} {task}\n")
        self.program.stdin.flush()
        done, took = self.program.stdout.readline().split()
        return int(done), float(took)

    def server(self, db):
        return self.do(db, "server")[0]

    def task(self, words):
        return lambda db, c: self.do(db, words)

    def stop(self):
        self.program.stdin.close()
        self.program.wait()


def processor_time(pid):
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[0]) / 1e9


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--latchwork", default="target/release/latchwork")
    words.add_argument("--postgres", default="/usr/lib/postgresql/15/bin")
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--only", default="")
    words.add_argument("--language", choices=["python", "go", "java"], default="python")
    words.add_argument("--classpath", default="")
    given = words.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="driver-speed."))
    folder.chmod(0o755)
    both, client = [], None
    try:
        both = [Latchwork(os.path.abspath(given.latchwork), folder), Postgres(given.postgres, folder)]
        connections = [db.connect() for db in both]
        for db, c in zip(both, connections):
            db.fill(c)
        tasks = TASKS
        if given.language == "python":
            servers = [db.server(c) for db, c in zip(both, connections)]
        else:
            client = Client(given.language, given.classpath, folder, both)
            tasks = GO_TASKS if given.language == "go" else JAVA_TASKS
            tasks = {name: client.task(words) for name, words in tasks.items()}
            servers = [client.server(db) for db in both]
        print(f"{'a second':38}{both[0].name:>14}{both[1].name:>14}{'ratio':>8}  (rounds)      server us: both")
        for task, do in tasks.items():
            if given.only not in task:
                continue
            rates, costs = [[], []], [[], []]
            for turn in range(given.rounds + 1):
                order = [0, 1] if turn % 2 else [1, 0]
                for which in order:
                    used, begin = processor_time(servers[which]), time.perf_counter()
                    did = do(both[which], connections[which])
                    n, took = did if isinstance(did, tuple) else (did, time.perf_counter() - begin)
                    if turn > 0:
                        rates[which].append(n / took)
                        costs[which].append((processor_time(servers[which]) - used) / n * 1e6)
            ratios = sorted(a / b for a, b in zip(*rates))
            ours, theirs = (statistics.median(r) for r in rates)
            line = f"{task:38}{ours:14,.0f}{theirs:14,.0f}{statistics.median(ratios):8.2f}  {ratios[0]:.2f} to {ratios[-1]:.2f}"
            if "sixteen" not in task and "connect," not in task:
                line += "".join(f"{statistics.median(c):10.3f}" for c in costs)
            print(line, flush=True)
    finally:
        if client:
            client.stop()
        for db in both:
            db.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
