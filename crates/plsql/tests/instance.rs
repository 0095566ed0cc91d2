//! PL/SQL over the real executor: a small instance in this process, with real blocks, transactions and result cache.

#[path = "../../exec/tests/common/mod.rs"]
#[allow(clippy::all)]
mod common;

use common::{Hook, Instance, Names, TestHost};
use dictionary::{Catalog, FixedId, ProcedureDef, SequenceDef, UnitKind, UserId};
use exec::{ExecCtx, FixedTable, Host, HostFunction};
use plsql::{ExecWorld, Plsql, Services, SqlCursor};
use std::cell::RefCell;
use std::rc::Rc;
use types::{DataType, Number, ObjectId, Ora, Result, Timestamp, Value};

/// A host with stored units.
struct PlHost {
    inner: TestHost,
    plsql: Rc<Plsql<SqlCursor>>,
    units: RefCell<Vec<Rc<ProcedureDef>>>,
    instance: &'static Instance,
    savepoints: RefCell<Vec<(String, txn::Savepoint)>>,
}

impl Host for PlHost {
    fn epoch(&self) -> u64 {
        self.inner.epoch() + self.units.borrow().len() as u64 * 1000
    }
    // Statements are compiled against the catalog, which does not contain the units.
    fn is_current(&self, epoch: u64) -> bool {
        self.inner.epoch() == epoch
    }
    fn catalog(&self) -> Result<Rc<dyn Catalog>> {
        self.inner.catalog()
    }
    fn fixed_table(&self, id: FixedId) -> &dyn FixedTable {
        self.inner.fixed_table(id)
    }
    fn function(
        &self,
        cx: &mut ExecCtx<'_>,
        _eyes: Option<exec::TextOwner>,
        path: &[String],
        args: &[DataType],
    ) -> Result<Option<HostFunction>> {
        let mut w = ExecWorld::new(cx, self);
        Ok(self.plsql.function(&mut w, path, args)?.map(HostFunction::from))
    }
    fn call(&self, cx: &mut ExecCtx<'_>, function: &HostFunction, args: &[Value]) -> Result<Value> {
        self.plsql.call(&mut ExecWorld::new(cx, self), function.handle, args, &function.omitted)
    }
    fn sys_context(&self, cx: &mut ExecCtx<'_>, namespace: &str, parameter: &str) -> Result<Value> {
        if parameter == "SID" {
            return Ok(Value::text(cx.p.sid().to_string()));
        }
        self.inner.sys_context(cx, namespace, parameter)
    }
    fn next_value(&self, cx: &mut ExecCtx<'_>, sequence: &SequenceDef) -> Result<Number> {
        self.inner.next_value(cx, sequence)
    }
    fn type_def(&self, id: types::TypeId) -> Option<std::rc::Rc<types::TypeDef>> {
        self.inner.type_def(id)
    }
    fn now(&self) -> Timestamp {
        self.inner.now()
    }
    fn sys_guid(&self) -> [u8; 16] {
        self.inner.sys_guid()
    }
}

impl Services for PlHost {
    fn units(&self, _cx: &mut ExecCtx<'_>, owner: Option<&str>, name: &str) -> Result<Vec<Rc<ProcedureDef>>> {
        let fits = |u: &&Rc<ProcedureDef>| u.name == name && owner.is_none_or(|o| o == u.owner);
        Ok(self.units.borrow().iter().filter(fits).cloned().collect())
    }
    fn set_schema(&self, cx: &mut ExecCtx<'_>, schema: &str) {
        cx.session.schema = schema.into();
    }
    fn execute_other(&self, _cx: &mut ExecCtx<'_>, _text: &str) -> Result<()> {
        Err(Ora::unsupported())
    }
    fn commit(&self, cx: &mut ExecCtx<'_>) -> Result<()> {
        let hook = Hook(self.instance.shared.results);
        cx.shared.txns.commit(cx.p, &mut cx.session.txn, &hook).map(|_| ())
    }
    fn rollback(&self, cx: &mut ExecCtx<'_>) -> Result<()> {
        cx.shared.txns.rollback(cx.p, &mut cx.session.txn)
    }
    fn savepoint(&self, cx: &mut ExecCtx<'_>, name: &str) -> Result<()> {
        self.savepoints.borrow_mut().push((name.to_string(), cx.shared.txns.savepoint(&cx.session.txn)));
        Ok(())
    }
    fn rollback_to(&self, cx: &mut ExecCtx<'_>, name: &str) -> Result<()> {
        let list = self.savepoints.borrow();
        let (_, to) = list.iter().rev().find(|(n, _)| n == name).ok_or_else(|| Ora::with(1086, &[&name]))?;
        cx.shared.txns.rollback_to(cx.p, &mut cx.session.txn, to)
    }
    fn set_transaction(&self, _cx: &mut ExecCtx<'_>, _text: &str) -> Result<()> {
        Ok(())
    }
    fn cpu_hsecs(&self) -> i64 {
        0
    }
}

struct Session {
    inner: common::Session<'static>,
    host: PlHost,
}

fn session() -> Session {
    let instance: &'static Instance = Box::leak(Box::new(Instance::new()));
    let names = Rc::new(Names::default());
    let mut inner = common::Session::new(instance, &names);
    for text in [
        "create cluster hc (n number(*,0)) single table hashkeys 100 size 100",
        "create table hc_t (n number(*,0), v varchar2(20)) cluster hc (n)",
        "insert into hc_t select level, 'v' || level from dual connect by level <= 100",
        "create table t (n number, v varchar2(20))",
        "insert into t select level, 'x' || level from dual connect by level <= 10",
        "create table job_times (sid number, time_ela number)",
        "create sequence seq",
        "commit",
    ] {
        inner.run(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    let plsql = Rc::new(Plsql::new(1));
    plsql.set_output(true, None);
    let other = common::Session::new(instance, &names).host;
    let host = PlHost { inner: other, plsql, units: RefCell::default(), instance, savepoints: RefCell::default() };
    Session { inner, host }
}

impl Session {
    fn cx(&mut self) -> ExecCtx<'_> {
        ExecCtx {
            p: &self.inner.p,
            shared: &self.inner.instance.shared,
            session: &mut self.inner.state,
            host: &self.host,
        }
    }

    fn store(&mut self, source: &str) {
        let header = sql::plsql::parse_create_header(&format!("create {source}")).expect("a unit");
        let kind = match header.kind {
            sql::plsql::ast::UnitKind::Procedure => UnitKind::Procedure,
            sql::plsql::ast::UnitKind::Function => UnitKind::Function,
            sql::plsql::ast::UnitKind::Package => UnitKind::Package,
            _ => UnitKind::PackageBody,
        };
        self.host.units.borrow_mut().push(Rc::new(ProcedureDef {
            object: ObjectId(9000),
            owner_id: UserId(10),
            owner: "SCOTT".into(),
            name: header.name.name,
            kind,
            source: source.into(),
            settings: Default::default(),
            valid: true,
            epoch: 0,
        }));
    }

    fn run(&mut self, text: &str) -> String {
        let plsql = self.host.plsql.clone();
        let mut cx = ExecCtx {
            p: &self.inner.p,
            shared: &self.inner.instance.shared,
            session: &mut self.inner.state,
            host: &self.host,
        };
        let mut w = ExecWorld::new(&mut cx, &self.host);
        let result = plsql.compile_block(&mut w, text).and_then(|b| plsql.run_block(&mut w, &b, &mut []));
        let mut out = plsql.take_output(usize::MAX);
        if let Err(e) = result {
            out.push(e.to_string());
        }
        out.join("\n")
    }

    fn query(&mut self, text: &str) -> String {
        let mut cx = self.cx();
        let mut run = || -> Result<Vec<String>> {
            let mut c = exec::Cursor::compile(&mut cx, text, &[])?;
            c.execute(&mut cx)?;
            let (mut row, mut all) = (Vec::new(), Vec::new());
            while c.fetch(&mut cx, &mut row)? {
                let nls = &cx.session.nls;
                let line = row.iter().map(|v| v.to_text(nls).unwrap().map_or("NULL".into(), |s| s.into_owned()));
                all.push(line.collect::<Vec<_>>().join(" "));
            }
            c.close(&mut cx);
            Ok(all)
        };
        match run() {
            Ok(rows) => rows.join("\n"),
            Err(e) => e.to_string(),
        }
    }
}

const DO: &str = "(p_iterations in number) is l_rowid rowid; l_n number; begin
  insert into job_times values (sys_context('userenv', 'sid'), dbms_utility.get_time) returning rowid into l_rowid;
  for i in 1 .. p_iterations loop
    l_n:=trunc(dbms_random.value(1, 100));
    for cur in (select HINT * from hc_t where n=l_n) loop null; end loop;
  end loop;
  update job_times set time_ela=dbms_utility.get_time-time_ela where rowid=l_rowid;
end;";

#[test]
fn the_lookup_loops_of_the_sources_run() {
    let mut s = session();
    s.store(&format!("procedure do_hc{}", DO.replace("HINT", "")));
    s.store(&format!("procedure do_rc{}", DO.replace("HINT", "/*+ result_cache */")));
    assert_eq!(s.run("begin do_hc(200); do_rc(200); do_rc(200); commit; end;"), "");
    assert_eq!(s.query("select count(*), sum(time_ela) from job_times"), "3 0");
    let built = s.inner.instance.shared.results.object_rows().len();
    assert!((50..=101).contains(&built), "{built} results");
}

#[test]
fn names_and_rows_over_the_executor() {
    let mut s = session();
    let out = s.run(
        "declare l_n number := 3; l_v varchar2(20); n number := 99; r t%rowtype; k number; type nt is table of t%rowtype; a nt;
           cursor c(p number) is select v from t where n = p;
         begin
           select v into l_v from t where n = l_n; dbms_output.put_line(l_v);
           select count(*) into k from t where n = n; dbms_output.put_line(k);
           select t.* into r from t where t.n = names_and_rows.n - 95 or t.n = l_n + 1 and rownum = 1; 
         exception when others then dbms_output.put_line(sqlerrm);
         end;",
    );
    assert!(out.starts_with("ORA-06550"), "{out}");
    let out = s.run(
        "<<b>> declare l_n number := 3; l_v varchar2(20); n number := 7; r t%rowtype; k number; type nt is table of t%rowtype; a nt;
           cursor c(p number) is select v from t where n = p;
         begin
           select v into l_v from t where n = l_n; dbms_output.put_line(l_v);
           select count(*) into k from t where n = n; dbms_output.put_line(k);
           select t.* into r from t where t.n = b.n; dbms_output.put_line(r.n || r.v);
           select * bulk collect into a from t where n > l_n order by n desc; dbms_output.put_line(a.count || a(1).v);
           for x in c(2) loop dbms_output.put_line(x.v); end loop;
           insert into t (n, v) values (seq.nextval + 100, upper(l_v)) returning n, v into r; dbms_output.put_line(r.n || r.v || sql%rowcount);
           r.n := 200; insert into t values r; update t set row = r where n = 1; dbms_output.put_line(sql%rowcount);
           k := seq.nextval; dbms_output.put_line(k);
           delete from t where n in (l_n, r.n) returning n bulk collect into a; 
         exception when others then dbms_output.put_line(sqlerrm);
         end;",
    );
    assert!(out.contains("PL/SQL: ORA-00947: not enough values"), "{out}");
    let out = s.run(
        "<<b>> declare l_n number := 3; l_v varchar2(20); n number := 7; r t%rowtype; k number; type nt is table of t%rowtype; a nt;
           type kt is table of number; d kt; cursor c(p number) is select v from t where n = p;
         begin
           select v into l_v from t where n = l_n; dbms_output.put_line(l_v);
           select count(*) into k from t where n = n; dbms_output.put_line(k);
           select t.* into r from t where t.n = b.n; dbms_output.put_line(r.n || r.v);
           select * bulk collect into a from t where n > l_n order by n desc; dbms_output.put_line(a.count || a(1).v);
           for x in c(2) loop dbms_output.put_line(x.v); end loop;
           insert into t (n, v) values (seq.nextval + 100, upper(l_v)) returning n, v into r; dbms_output.put_line(r.n || r.v || sql%rowcount);
           r.n := 200; insert into t values r; update t set row = r where n = 1; dbms_output.put_line(sql%rowcount);
           k := seq.nextval; dbms_output.put_line(k);
           delete from t where n in (l_n, r.n) returning n bulk collect into d; dbms_output.put_line(d.count || ' ' || sql%rowcount);
           rollback;
           select count(*) into k from t; dbms_output.put_line(k);
         end;",
    );
    assert_eq!(out, "x3\n10\n7x7\n7x10\nx2\n101X31\n1\n2\n3 3\n10");
}

#[test]
fn text_seen_in_v_sql() {
    let mut s = session();
    s.run("declare v_r number := 5; x number; begin SELECT COUNT(v) into x FROM t where n >  v_r - 2 AND  n < v_r; dbms_output.put_line(x); end;");
    let library = s.inner.instance.shared.library;
    s.inner.state.figures.flush(&s.inner.p, library);
    let texts: Vec<String> = s.inner.instance.shared.library.rows().iter().map(|r| r.text.clone()).collect();
    assert!(texts.iter().any(|t| t == "SELECT COUNT(V) FROM T WHERE N > :B1 - 2 AND N < :B1 "), "{texts:?}");
}

#[test]
fn functions_of_plsql_in_sql() {
    let mut s = session();
    s.store("function twice(n number, m number default 2) return number is begin return n * m; end;");
    s.store("package pk is g number := 1; function next return number; end;");
    s.store("package body pk is function next return number is k number; begin select count(*) into k from t where n <= g; g := g + 1; return k; end; end;");
    s.store("function bad(n number) return number is begin return 1 / (n - 2); end;");
    assert_eq!(s.query("select twice(n), twice(n, 10) from t where n < 3"), "2 10\n4 20");
    assert_eq!(s.query("select pk.next from t where n < 4"), "1\n2\n3");
    assert_eq!(s.query("select length(dbms_random.string('p', 20)) from dual"), "20");
    assert_eq!(
        s.query("select bad(n) from t"),
        "ORA-01476: divisor is equal to zero\nORA-06512: at \"SCOTT.BAD\", line 1"
    );
    assert_eq!(s.run("declare x number; begin select twice(4) into x from dual; dbms_output.put_line(x); end;"), "8");
}

#[test]
fn errors_and_savepoints() {
    let mut s = session();
    assert_eq!(
        s.run("begin\n  update nosuch set a = 1;\nend;"),
        "ORA-06550: line 2, column 10:\nPL/SQL: ORA-00942: table or view does not exist\nORA-06550: line 2, column 3:\nPL/SQL: SQL Statement ignored"
    );
    assert!(
        s.run("begin delete from t where nocol = 1; end;").contains("PL/SQL: ORA-00904: \"NOCOL\": invalid identifier")
    );
    assert_eq!(s.run("declare k number; begin savepoint a; delete from t; rollback to a; select count(*) into k from t; dbms_output.put_line(k); end;"), "10");
    assert_eq!(s.run("declare k number; begin select n into k from t; exception when too_many_rows then dbms_output.put_line(sqlerrm); end;"),
        "ORA-01422: exact fetch returns more than requested number of rows");
    assert_eq!(s.run("begin insert into t values ('x', 'y'); exception when invalid_number then dbms_output.put_line(sqlcode); end;"), "-1722");
}

#[test]
fn dynamic_sql_over_the_executor() {
    let mut s = session();
    let out = s.run(
        "declare n number; v varchar2(20); c sys_refcursor; begin
           execute immediate 'select n, v from t where n = :a or n = :b and 1 = 2' into n, v using 4, 5; dbms_output.put_line(n || v);
           execute immediate 'update t set v = :1 where n = :2 returning n into :3' using 'new', 4 returning into n; dbms_output.put_line(n || ' ' || sql%rowcount);
           open c for 'select v from t where n < :x order by n' using 3; loop fetch c into v; exit when c%notfound; dbms_output.put_line(v); end loop; close c;
           begin execute immediate 'selec'; exception when others then dbms_output.put_line(sqlerrm); end;
           execute immediate 'insert into t values (:1, :2)' using 50, 'fifty'; execute immediate 'select count(*) from t' into n; dbms_output.put_line(n);
         end;",
    );
    assert_eq!(out, "4x4\n4 1\nx1\nx2\nORA-00900: invalid SQL statement\n11");
}

#[test]
fn cached_functions_depend_on_what_they_read() {
    let mut s = session();
    s.store("function how_many(p number) return number result_cache is k number; begin dbms_output.put_line('run'); select count(*) into k from t where n <= p; return k; end;");
    let block = "begin dbms_output.put_line(how_many(3)); dbms_output.put_line(how_many(3)); end;";
    assert_eq!(s.run(block), "run\n3\n3");
    assert_eq!(s.run(block), "3\n3");
    s.run("begin delete from t where n = 1; commit; end;");
    assert_eq!(s.run(block), "run\n2\n2");
}

#[test]
fn cached_functions_depend_on_what_the_functions_they_call_read() {
    let mut s = session();
    s.store("function counted(p number) return number is k number; begin select count(*) into k from t where n <= p; return k; end;");
    s.store("function outer_f(p number) return number result_cache is begin dbms_output.put_line('run'); return counted(p); end;");
    s.store("function dynamic_f(p number) return number result_cache is k number; begin dbms_output.put_line('run'); execute immediate 'select count(*) from t where n <= :1' into k using p; return k; end;");
    let twice = |f: &str| format!("begin dbms_output.put_line({f}(3)); dbms_output.put_line({f}(3)); end;");
    assert_eq!(s.run(&twice("outer_f")), "run\n3\n3");
    // The tables that dynamic SQL reads are unknown, so nothing is cached.
    assert_eq!(s.run(&twice("dynamic_f")), "run\n3\nrun\n3");
    s.run("begin delete from t where n = 1; commit; end;");
    assert_eq!(s.run(&twice("outer_f")), "run\n2\n2");
    assert_eq!(s.run(&twice("dynamic_f")), "run\n2\nrun\n2");
}
