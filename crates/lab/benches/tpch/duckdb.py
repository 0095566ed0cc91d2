"""Runs statements in DuckDB on one thread: a line of JSON in, a line of JSON out."""
import datetime, decimal, json, sys, threading, time
import duckdb

database = duckdb.connect(":memory:")
database.execute("set threads = 1")
# A statement of more than two seconds would print its progress between the answers.
database.execute("set enable_progress_bar = false")


def cell(value):
    if value is None:
        return None
    if isinstance(value, bool):
        return {"t": str(value)}
    if isinstance(value, (int, decimal.Decimal)):
        return {"n": str(value)}
    if isinstance(value, float):
        return {"f": value}
    if isinstance(value, datetime.datetime):
        return {"t": value.date().isoformat()}
    if isinstance(value, datetime.date):
        return {"t": value.isoformat()}
    return {"t": str(value)}


for line in sys.stdin:
    request = json.loads(line)
    late = threading.Event()

    def stop():
        late.set()
        database.interrupt()

    timer = threading.Timer(request["timeout"], stop)
    timer.start()
    began = time.perf_counter()
    try:
        rows = database.execute(request["sql"]).fetchall() if request["sql"] else []
        seconds = time.perf_counter() - began
        answer = {"seconds": seconds, "rows": [[cell(v) for v in row] for row in rows]}
    except Exception as e:
        answer = {"late": True} if late.is_set() else {"error": str(e)}
    timer.cancel()
    print(json.dumps(answer), flush=True)
