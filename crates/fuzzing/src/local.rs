//! The local socket: frames and packets, and calls of a session.

use crate::Target;
use crate::language::{Bench, with_bench};
use net::local::{Bind, Execute, FrameBuffer, Logon, MAX_REQUEST_LEN, PROTOCOL_VERSION, Reply, Request, write_frame};
use types::{DataType, Number, Value};

/// Frames of requests and replies. A decoded frame is encoded and decoded again, to the same value.
pub const FRAMES: Target = Target { name: "local_frames", run: frames, seeds: frame_seeds, is_text: false };

/// Requests to a session that is logged on.
pub const SESSION: Target = Target { name: "local_session", run: session, seeds: session_seeds, is_text: false };

fn frames(bytes: &[u8]) {
    let mut buffer = FrameBuffer::new(MAX_REQUEST_LEN);
    buffer.extend(bytes);
    while let Ok(Some(frame)) = buffer.next_frame() {
        packet(frame);
    }
    packet(bytes);
}

fn packet(body: &[u8]) {
    if let Ok(request) = Request::decode(body) {
        let mut out = Vec::new();
        request.encode(&mut out);
        let again = Request::decode(&out).expect("what was encoded decodes");
        assert_eq!(format!("{request:?}"), format!("{again:?}"));
    }
    if let Ok(reply) = Reply::decode(body) {
        let mut out = Vec::new();
        reply.encode(&mut out);
        let again = Reply::decode(&out).expect("what was encoded decodes");
        assert_eq!(format!("{reply:?}"), format!("{again:?}"));
    }
}

fn requests() -> Vec<Request> {
    let execute = |sql: &str, binds| {
        Request::Execute(Box::new(Execute {
            sql: sql.into(),
            binds,
            prefetch: 10,
            want_output: true,
            tables: Vec::new(),
        }))
    };
    let number = Bind::input(DataType::NUMBER, Value::Number(Number::from_i64(7)));
    let text = Bind::named("v", DataType::TEXT, Value::text("seven"));
    vec![
        execute("select id, name from fuzz_t where id = :1", vec![number.clone()]),
        execute("begin dbms_output.put_line(:v); end;", vec![text]),
        execute("update fuzz_t set name = :1 where id = :2", vec![Bind::input(DataType::TEXT, Value::Null), number]),
        Request::Describe { sql: "select * from fuzz_t".into() },
        Request::Fetch { cursor: 1, rows: 10 },
        Request::CloseCursor { cursor: 1 },
    ]
}

fn encoded(request: &Request) -> Vec<u8> {
    let mut out = Vec::new();
    request.encode(&mut out);
    out
}

fn frame_seeds() -> Vec<Vec<u8>> {
    let logon = Logon { version: PROTOCOL_VERSION, as_sysdba: true, program: "fuzz".into(), ..Logon::default() };
    let mut all: Vec<Vec<u8>> = requests().iter().map(encoded).collect();
    all.push(encoded(&Request::Logon(Box::new(logon))));
    all.push(encoded(&Request::Cancel { sid: 1, serial: 2, key: 3, call: 4 }));
    let mut framed = Vec::new();
    for request in requests() {
        write_frame(&mut framed, |o| request.encode(o));
    }
    all.push(framed);
    all
}

fn session_seeds() -> Vec<Vec<u8>> {
    requests().iter().map(encoded).collect()
}

fn session(bytes: &[u8]) {
    let Ok(request) = Request::decode(bytes) else { return };
    // Texts of the input's own could loop for ever; other targets search texts.
    let is_known = |sql: &str| requests().iter().any(|r| matches!(r, Request::Execute(e) if e.sql == sql));
    match &request {
        Request::Execute(e) if !is_known(&e.sql) => return,
        // Not permitted after a logon: they rightly end the session.
        Request::Logon(_)
        | Request::Cancel { .. }
        | Request::Diagnose
        | Request::Listener(_)
        | Request::Logoff { .. } => return,
        Request::ExecuteMany { .. } => return,
        _ => {}
    }
    with_bench(|bench: &mut Bench| {
        bench.call(&request);
    });
}
