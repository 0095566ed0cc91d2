//! SQL and PL/SQL from text to tree, plan, code and rows, in a session of an instance inside this process.

use crate::Target;
use instance::{InProcess, Instance};
use net::local::{Execute, FrameBuffer, Reply, Request};
use process::Cancel;
use session::Session;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Text to tree. A tree that can be printed is parsed again to the same tree.
pub const SQL_PARSE: Target = Target { name: "sql_parse", run: sql_parse, seeds: statements, is_text: true };

/// Text to plan: the statement is described and not executed.
pub const SQL_PLAN: Target = Target { name: "sql_plan", run: sql_plan, seeds: statements, is_text: true };

/// Text to rows: the statement is executed, cancelled after a second, and rolled back.
pub const SQL_RUN: Target = Target { name: "sql_run", run: sql_run, seeds: statements, is_text: true };

/// Text to code: the text follows a RETURN in a block, so that it is compiled but not executed.
pub const PLSQL_COMPILE: Target = Target { name: "plsql_compile", run: plsql_compile, seeds: blocks, is_text: true };

/// A longer call is cancelled.
const CALL_LIMIT: Duration = Duration::from_secs(1);

const SETUP: [&str; 9] = [
    "create table fuzz_t (id number primary key, name varchar2(30), d date, n number(10,2), c char(3))",
    "insert into fuzz_t select level, 'n' || mod(level, 7), date '2024-01-01' + level, level / 3, 'c' || mod(level, 5) \
     from dual connect by level <= 50",
    "create table fuzz_u (id number references fuzz_t, v varchar2(100), t timestamp)",
    "insert into fuzz_u select id, rpad('x', mod(id, 90), 'y'), systimestamp from fuzz_t where id < 30",
    "create index fuzz_i on fuzz_t (name, n)",
    "create view fuzz_v as select t.id, t.name, u.v from fuzz_t t left join fuzz_u u on u.id = t.id",
    "create sequence fuzz_s",
    "create package fuzz_p as g number; function f(a number default 1) return number; procedure q(a in out number); end;",
    "create package body fuzz_p as function f(a number default 1) return number is begin return a + 1; end; \
     procedure q(a in out number) is begin a := nvl(a, 0) + nvl(g, 1); end; end;",
];

/// An instance inside this process with one session.
pub struct Bench {
    session: Session,
    /// Number of the current call; odd while a call runs.
    calls: Arc<AtomicU64>,
    /// Keeps the files until the thread ends.
    home: InProcess,
}

impl Bench {
    fn start() -> Bench {
        let home = InProcess::start(&[("processes", "60")]).expect("an instance");
        let instance = home.instance();
        instance.set_fixed_tables(views::make);
        let mut session = Session::in_process(instance).expect("a session");
        for sql in SETUP {
            session.run(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        session.commit().expect("a commit");
        let calls = Arc::new(AtomicU64::new(0));
        let welcome = session.welcome();
        let seen = Arc::clone(&calls);
        std::thread::spawn(move || {
            let mut before = 0;
            loop {
                std::thread::sleep(CALL_LIMIT);
                let now = seen.load(Ordering::Acquire);
                if now == before && now % 2 == 1 {
                    instance.processes().cancel(welcome.sid, welcome.serial.into(), Cancel::Break);
                }
                before = now;
            }
        });
        Bench { session, calls, home }
    }

    /// One call, undone afterwards. Its answer must decode.
    pub fn call(&mut self, request: &Request) {
        let mut out = Vec::new();
        self.calls.fetch_add(1, Ordering::Release);
        let flow = self.session.call(request, &mut out);
        self.calls.fetch_add(1, Ordering::Release);
        let mut frames = FrameBuffer::new(usize::MAX);
        frames.extend(&out);
        let mut replies = 0;
        while let Some(frame) = frames.next_frame().expect("whole frames") {
            let reply = Reply::decode(frame).expect("a reply that decodes");
            if let Reply::Error(e) = &reply {
                assert!(e.code != 600 && e.code != 7445, "{}", e.text);
                assert!(!e.fatal || e.code == 28, "the session ended: {}", e.text);
            }
            replies += 1;
        }
        // Closing a cursor is the only request without an answer.
        assert!(replies > 0 || matches!(request, Request::CloseCursor { .. }), "a call without an answer");
        let _ = (flow, self.session.rollback());
    }

    fn is_whole(&mut self) -> bool {
        self.session.run("select count(*) from fuzz_t").is_ok()
    }
}

/// The instance of this thread.
pub fn instance() -> &'static Instance {
    let mut instance = None;
    with_bench(|bench| instance = Some(bench.home.instance()));
    instance.expect("an instance")
}

/// Runs `f` with the bench of this thread.
pub fn with_bench(f: impl FnOnce(&mut Bench)) {
    thread_local! { static BENCH: RefCell<Option<Bench>> = const { RefCell::new(None) }; }
    BENCH.with(|bench| {
        let mut bench = bench.borrow_mut();
        f(bench.get_or_insert_with(Bench::start));
    });
}

/// The control file of a database, and the manifest of a backup of it.
pub fn files_of_a_database() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    with_bench(|bench| {
        let dir = bench.home.instance().dir().to_path_buf();
        all.push(std::fs::read(dir.join(datafile::CONTROL_FILE)).expect("a control file"));
    });
    all.push(
        b"latchwork backup 1\ndatabase 1 db\nincarnation 1\nbegin 0x200 9 1700000000\nend 0x400 12 1700000001\n"
            .to_vec(),
    );
    all
}

fn text_of(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| text.len() < 64 << 10)
}

fn sql_parse(bytes: &[u8]) {
    let Some(text) = text_of(bytes) else { return };
    let _ = sql::parse_statement(text);
    let _ = sql::outline(text);
    let _ = (sql::sql_id(text), sql::normalise_static(text, &[], &[]));
    if let Ok(tree) = sql::parse_query(text) {
        let printed = tree.to_string();
        match sql::parse_query(&printed) {
            Ok(again) => assert_eq!(tree, again, "{printed}"),
            // Printing writes every parenthesis, so the printed text may nest deeper than the parser allows.
            Err(e) if e.code() == 4030 => {}
            Err(e) => panic!("{printed}: {e}"),
        }
    }
}

fn execute(sql: &str) -> Request {
    Request::Execute(Box::new(Execute {
        sql: sql.into(),
        binds: Vec::new(),
        prefetch: 100,
        want_output: true,
        tables: Vec::new(),
    }))
}

fn sql_plan(bytes: &[u8]) {
    let Some(text) = text_of(bytes) else { return };
    with_bench(|bench| bench.call(&Request::Describe { sql: text.into() }));
}

/// Statements that would end the bench, or whose effects a rollback does not undo.
fn is_harmless(text: &str) -> bool {
    let word = text.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase();
    matches!(word.as_str(), "select" | "with" | "insert" | "update" | "delete" | "merge" | "explain")
}

fn sql_run(bytes: &[u8]) {
    let Some(text) = text_of(bytes) else { return };
    if !is_harmless(text) {
        return;
    }
    with_bench(|bench| {
        bench.call(&execute(text));
        assert!(bench.is_whole(), "the session does not answer any more");
    });
}

fn plsql_compile(bytes: &[u8]) {
    let Some(text) = text_of(bytes) else { return };
    with_bench(|bench| bench.call(&execute(&format!("begin return; {text}\nend;"))));
}

fn owned(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|t| t.as_bytes().to_vec()).collect()
}

fn statements() -> Vec<Vec<u8>> {
    owned(&[
        "select * from fuzz_t where id = 7",
        "select t.name, count(*), sum(n) over () from fuzz_t t, fuzz_u u where t.id = u.id(+) group by t.name, n having count(*) > 1",
        "with a as (select id, name from fuzz_t where n between 3 and 9) select a.*, level from a connect by prior id = id + 1",
        "select name, listagg(c, ',') within group (order by id) from fuzz_t group by rollup (name, d) order by 1 nulls first",
        "select id, lag(n, 1, 0) over (partition by name order by d rows between 2 preceding and current row) from fuzz_t",
        "select * from (select name, n from fuzz_t) pivot (sum(n) for name in ('n1' as a, 'n2' as b))",
        "select case when n > 1 then to_char(d, 'YYYY-MM-DD HH24:MI:SS') else decode(c, 'c1', 'x', null) end from fuzz_t",
        "select * from fuzz_t t where exists (select 1 from fuzz_u u where u.id = t.id and u.v like 'x%' escape '!')",
        "select * from fuzz_t natural join fuzz_u cross join dual order by 1, 2 desc fetch first 5 rows with ties",
        "select * from fuzz_t a left join lateral (select max(v) v from fuzz_u u where u.id = a.id) b on 1 = 1",
        "select regexp_replace(name, '(n)([0-9]+)', '\\2\\1'), regexp_substr(v, '[^,]+', 1, 2) from fuzz_v",
        "select interval '1-2' year to month + date '2024-02-29', timestamp '2024-01-01 00:00:00 +02:00' from dual",
        "select id from fuzz_t union all select id from fuzz_u minus select level from dual connect by level < 9",
        "select /*+ leading(u t) use_nl(t) index(t fuzz_i) */ * from fuzz_t t, fuzz_u u where t.id in (u.id, 3, null)",
        "insert into fuzz_u (id, v) select id, name from fuzz_t where rownum < 4",
        "insert all when id > 3 then into fuzz_u (id) values (id) else into fuzz_u (id, v) values (id, 'e') select id from fuzz_t",
        "update fuzz_t set (name, n) = (select max(v), 1 from fuzz_u u where u.id = fuzz_t.id) where c = 'c1'",
        "merge into fuzz_u u using fuzz_t t on (u.id = t.id) when matched then update set v = t.name delete where t.n > 5 \
         when not matched then insert (id, v) values (t.id, t.name)",
        "delete from fuzz_u where v is null or id in (select id from fuzz_t where d > sysdate - 1)",
        "select fuzz_p.f(n), fuzz_s.nextval, sys_context('userenv', 'sid'), nvl2(c, 'a', 'b'), cast(id as varchar2(5)) from fuzz_t",
        "select to_number('1,234.5', '9G999D9'), to_date('01-JAN-24', 'DD-MON-RR'), round(12.345, 1), power(2, 0.5) from dual",
        "select grouping_id(name, c), count(distinct n) from fuzz_t group by grouping sets ((name, c), (name), ())",
        "create table x (a number(5) default 3 not null, b varchar2(10) check (b > 'a'), constraint k primary key (a)) pctfree 5",
        "create or replace view w as select id, name from fuzz_t with check option",
        "alter table fuzz_t add (e number) modify (n number(12,2)) drop column c",
        "grant select, update (name) on fuzz_t to public with grant option",
        "create unique index i on fuzz_t (upper(name), n desc) compress",
        "alter session set nls_date_format = 'YYYY'",
    ])
}

fn blocks() -> Vec<Vec<u8>> {
    owned(&[
        "declare v number := 1; begin for i in 1 .. 10 loop v := v + i; exit when v > 9; end loop; end;",
        "declare type t is table of fuzz_t%rowtype index by pls_integer; a t; begin select * bulk collect into a from fuzz_t; end;",
        "declare cursor c (p number) is select id, name from fuzz_t where id > p; r c%rowtype; begin open c(3); fetch c into r; \
         while c%found loop dbms_output.put_line(r.name || r.id); fetch c into r; end loop; close c; end;",
        "declare e exception; pragma exception_init(e, -1); begin raise e; exception when e or no_data_found then null; \
         when others then dbms_output.put_line(sqlerrm); raise; end;",
        "declare function f(a varchar2, b in out nocopy number) return date is begin b := length(a); return sysdate; end; \
         n number; begin if f('x', n) is null then goto l; elsif n > 3 then n := case n when 1 then 2 else 3 end; end if; <<l>> null; end;",
        "declare v varchar2(9); n number; begin execute immediate 'select name from fuzz_t where id = :a' into v using 3; \
         update fuzz_t set name = v where id = 4 returning n into n; commit; end;",
        "declare type r is record (a number, b varchar2(5)); type n is table of r; x n := n(); begin x.extend; x(1).a := 3; \
         forall i in 1 .. x.count insert into fuzz_u (id) values (x(i).a); end;",
        "declare procedure p is pragma autonomous_transaction; begin commit; end; begin p; fuzz_p.g := fuzz_p.f(a => 2); end;",
        "<<o>> declare c sys_refcursor; b boolean := true and not false; begin open c for select 1 from dual; close c; \
         <<i>> for r in (select * from fuzz_v) loop continue o when b; end loop; end;",
    ])
}
