//! PostgreSQL: a server in a folder of its own, one session with the simple query protocol, statements prepared once.

use crate::answer::{Cell, Rows};
use crate::data;
use crate::engine::{Engine, Failure, Memory};
use crate::peer::Postgres;
use crate::text::{Kind, Query, Table};
use std::collections::HashSet;
use std::io::{BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Type OIDs whose values are compared as numbers.
const NUMBERS: [u32; 5] = [20, 21, 23, 26, 1700];
const FLOATS: [u32; 2] = [700, 701];

pub struct PostgresEngine {
    session: Session,
    prepared: HashSet<usize>,
    pid: u32,
    timeout: Duration,
    // Declared after the session, which must be closed first.
    _server: Postgres,
}

impl PostgresEngine {
    pub fn start(memory: Memory) -> Option<PostgresEngine> {
        let folder = std::env::temp_dir().join(format!("latchwork-tpch-{}", std::process::id()));
        let settings = format!(
            "-c fsync=off -c full_page_writes=off -c max_wal_size=8GB -c shared_buffers={}MB \
             -c effective_cache_size={}MB -c work_mem={}MB -c maintenance_work_mem=512MB -c jit=off \
             -c max_parallel_workers_per_gather=0 -c random_page_cost=1.1 -c autovacuum=off",
            memory.buffers_mb, memory.buffers_mb, memory.work_mb,
        );
        let server = Postgres::start(folder, &settings)?;
        let mut session = Session::connect(&server.folder().join(".s.PGSQL.5432"))?;
        let rows = session.query("select pg_backend_pid()").expect("answers");
        let Some(Cell::Exact(pid)) = rows.first().and_then(|row| row.first()) else { panic!("a process number") };
        let pid = pid.parse().expect("a number");
        Some(PostgresEngine { session, prepared: HashSet::new(), pid, timeout: Duration::ZERO, _server: server })
    }
}

impl Engine for PostgresEngine {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn load(&mut self, tables: &[Table], rows: &Path) {
        for table in tables {
            let create = table.create(
                |kind, spelt| match kind {
                    Kind::Whole => "integer".to_string(),
                    Kind::Decimal => spelt.replace("number", "numeric"),
                    Kind::Date => "date".to_string(),
                    Kind::Text => spelt.replace("varchar2", "varchar"),
                },
                "",
            );
            self.session.run(&create);
            self.session.copy(&table.name, &data::file(rows, &table.name));
            self.session.run(&table.add_key());
        }
        // In a call of its own: VACUUM cannot run in the transaction that several statements in one call form.
        self.session.run("vacuum analyze");
    }

    fn run(&mut self, query: &Query, timeout: Duration) -> Result<Rows, Failure> {
        if self.timeout != timeout {
            self.session.run(&format!("set statement_timeout = {}", timeout.as_millis()));
            self.timeout = timeout;
        }
        let name = format!("q{}", query.number);
        if self.prepared.insert(query.number) {
            self.session.run(&format!("prepare {name} as {}", query.sql));
        }
        self.session.query(&format!("execute {name}"))
    }

    fn plan(&mut self, query: &Query) -> Option<String> {
        let rows = self.session.query(&format!("explain {}", query.sql)).ok()?;
        let lines = rows.iter().filter_map(|row| match row.first() {
            Some(Cell::Text(line)) => Some(line.as_str()),
            _ => None,
        });
        Some(lines.collect::<Vec<&str>>().join("\n"))
    }

    fn parse(&mut self, sql: &str, _: Duration) -> Result<(), Failure> {
        self.session.query(&format!("explain {sql}")).map(drop)
    }

    fn round_trip(&mut self) {
        self.session.run(";");
    }

    fn process(&self) -> Option<u32> {
        Some(self.pid)
    }
}

/// A connection with the frontend/backend protocol, version 3: simple queries in text format.
struct Session {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

impl Session {
    fn connect(socket: &Path) -> Option<Session> {
        let writer = UnixStream::connect(socket).ok()?;
        let mut session = Session { reader: BufReader::with_capacity(1 << 16, writer.try_clone().ok()?), writer };
        let words = b"user\0postgres\0database\0postgres\0\0";
        let mut packet = (8 + words.len() as u32).to_be_bytes().to_vec();
        packet.extend(196_608u32.to_be_bytes());
        packet.extend(words);
        session.writer.write_all(&packet).ok()?;
        session.until_ready().ok()?;
        Some(session)
    }

    fn send(&mut self, kind: u8, body: &[u8]) {
        let mut packet = vec![kind];
        packet.extend((4 + body.len() as u32).to_be_bytes());
        packet.extend(body);
        self.writer.write_all(&packet).expect("the server reads");
    }

    fn receive(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0u8; 5];
        self.reader.read_exact(&mut head).expect("the server answers");
        let len = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; len - 4];
        self.reader.read_exact(&mut body).expect("the server answers");
        (head[0], body)
    }

    fn run(&mut self, sql: &str) {
        self.query(sql).unwrap_or_else(|e| panic!("PostgreSQL: {e:?}\n{sql}"));
    }

    fn query(&mut self, sql: &str) -> Result<Rows, Failure> {
        let mut body = sql.as_bytes().to_vec();
        body.push(0);
        self.send(b'Q', &body);
        self.until_ready()
    }

    fn until_ready(&mut self) -> Result<Rows, Failure> {
        let (mut rows, mut types, mut failed) = (Vec::new(), Vec::new(), None);
        loop {
            let (kind, body) = self.receive();
            match kind {
                b'T' => types = row_types(&body),
                b'D' => rows.push(row(&body, &types)),
                b'E' => failed = Some(failure(&body)),
                b'Z' => break,
                _ => {}
            }
        }
        failed.map_or(Ok(rows), Err)
    }

    fn copy(&mut self, table: &str, file: &Path) {
        let sql = format!("copy {table} from stdin with (delimiter '|')\0");
        self.send(b'Q', sql.as_bytes());
        let (kind, body) = self.receive();
        assert_eq!(kind, b'G', "{}", String::from_utf8_lossy(&body));
        let mut input = std::fs::File::open(file).expect("the rows");
        let mut chunk = vec![0; 1 << 16];
        loop {
            let n = input.read(&mut chunk).expect("reads");
            if n == 0 {
                break;
            }
            self.send(b'd', &chunk[..n]);
        }
        self.send(b'c', &[]);
        self.until_ready().unwrap_or_else(|e| panic!("PostgreSQL: {e:?}, {table}"));
    }
}

fn failure(body: &[u8]) -> Failure {
    let fields: Vec<String> = body.split(|b| *b == 0).map(|f| String::from_utf8_lossy(f).to_string()).collect();
    // 57014 is query_canceled.
    if fields.iter().any(|f| f == "C57014") { Failure::Timeout } else { Failure::Error(fields.join(" ")) }
}

fn row_types(body: &[u8]) -> Vec<u32> {
    let columns = u16::from_be_bytes([body[0], body[1]]) as usize;
    let (mut types, mut at) = (Vec::with_capacity(columns), 2);
    for _ in 0..columns {
        at += body[at..].iter().position(|b| *b == 0).expect("a name") + 1;
        types.push(u32::from_be_bytes([body[at + 6], body[at + 7], body[at + 8], body[at + 9]]));
        at += 18;
    }
    types
}

fn row(body: &[u8], types: &[u32]) -> Vec<Cell> {
    let mut at = 2;
    let cell = |oid: &u32| {
        let len = i32::from_be_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
        at += 4;
        if len < 0 {
            return Cell::Null;
        }
        let text = String::from_utf8_lossy(&body[at..at + len as usize]).to_string();
        at += len as usize;
        match oid {
            n if NUMBERS.contains(n) => Cell::Exact(text),
            n if FLOATS.contains(n) => Cell::Float(text.parse().expect("a number")),
            _ => Cell::Text(text),
        }
    };
    types.iter().map(cell).collect()
}
