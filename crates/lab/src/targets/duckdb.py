"""DuckDB on one thread: a line of JSON in, a line of JSON out.

setup: statements that make the database; task: the prepared statement of a loop; work: executions of it;
query: rows of a query, for plans and figures.
"""
import json, random, sys
import duckdb

place, writes = sys.argv[1], sys.argv[2] == "write"
database = duckdb.connect(place, read_only=not writes)
database.execute("set threads = 1")
database.execute("set enable_progress_bar = false")
statement, key = "", None

for line in sys.stdin:
    request = json.loads(line)
    answer = {}
    try:
        if "setup" in request:
            for sql in request["setup"]:
                database.execute(sql)
            answer["version"] = duckdb.__version__
        elif "task" in request:
            key = request["key"]
            random.seed(request["seed"])
            database.execute("prepare task as " + request["task"])
            statement = "execute task(%d)" if key else "execute task"
        elif "work" in request:
            database.execute("begin")
            for _ in range(request["work"]):
                sql = statement % random.randrange(key[0], key[1]) if key else statement
                if database.execute(sql).fetchone() is None:
                    raise ValueError("no row")
            database.execute("commit")
        else:
            rows = database.execute(request["query"]).fetchall()
            answer["text"] = "\n".join(str(row[-1]) for row in rows)
    except Exception as e:
        answer = {"error": str(e)}
    print(json.dumps(answer), flush=True)
