//! Texts that programs read: scripts and command lines of the shell, init files, requests to the page of `top`, its
//! recordings, the manifests of experiments, and stored plans.

use crate::Target;
use params::InitParams;

/// The first byte selects the reader of the rest.
pub const PROGRAM: Target = Target { name: "program_text", run: program, seeds: program_seeds, is_text: false };

fn program(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    if choice % 7 == 0 {
        return request(bytes);
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match choice % 7 {
        1 => script(text),
        2 => command_line(text),
        3 => {
            let mut params = InitParams::default();
            if params.read_file(text).is_ok() {
                // The parsed parameters can be written and parsed again.
                let mut again = InitParams::default();
                again.read_file(&params.given_lines().join("\n")).expect("lines as they are printed");
                assert_eq!(again.given_lines(), params.given_lines());
            }
        }
        6 => {
            // A decoded plan is encoded again to the same bytes.
            let rows = plan::rows::decode(bytes);
            let again = plan::rows::decode(&plan::rows::encode(&rows));
            assert_eq!(format!("{rows:?}"), format!("{again:?}"));
        }
        4 => {
            let _ = top::recorded(text.as_bytes());
        }
        _ => {
            let _ = text.parse::<lab::Manifest>();
        }
    }
}

fn request(bytes: &[u8]) {
    let whole = top::decode_request(bytes);
    // A complete request is parsed to the same value, however it was split.
    for cut in [bytes.len() / 2, bytes.len().saturating_sub(1)] {
        match (top::decode_request(&bytes[..cut]), &whole) {
            (Ok(None), _) | (Err(_), Err(_)) => {}
            (Ok(Some(first)), Ok(Some(all))) => assert_eq!(first, *all),
            (first, all) => panic!("{first:?} of {cut} bytes, {all:?} of all"),
        }
    }
}

fn script(text: &str) {
    for statement in shell::split_script(text) {
        assert!(!statement.trim().is_empty(), "an empty statement");
        for name in shell::bind_names(&statement) {
            assert!(!name.is_empty());
        }
    }
    let mut variables = shell::Variables::default();
    variables.define("a", "value");
    for line in text.lines() {
        let mut asked = 0;
        let marks = shell::Marks { substitution: '&', escape: Some('\\'), end: Some('.') };
        let _ = variables.replace(line, marks, &mut |_| {
            asked += 1;
            (asked < 3).then(|| "x".to_string())
        });
        let _ = shell::begins(line);
    }
}

fn command_line(text: &str) {
    let words: Vec<String> = text.split(' ').map(str::to_string).collect();
    let _ = shell::parse(&words);
    let _ = shell::parse_logon(text);
}

fn program_seeds() -> Vec<Vec<u8>> {
    let texts: [(u8, &str); 13] = [
        (0, "GET /?key=0123&pane=sql%20x HTTP/1.1\r\nHost: localhost:80\r\nCookie: a=b; c=d\r\n\r\n"),
        (0, "POST /kill HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\nOrigin: http://h\r\n\r\nsid=7&a=b"),
        (1, "select 'it''s' from dual;\nbegin null; end;\n/\n-- done\n/* a */ update t set a = :b where c = &d..e;\n"),
        (1, "create or replace procedure p is begin q'[it's]'; end;\n/\nset role x;\nprompt &&name\n"),
        (2, "-s -R 2 scott/tiger@//h:1/s as sysdba @script.sql a b"),
        (2, "--ephemeral --param processes=50 --markup \"csv on\" /nolog"),
        (3, "# comment\n*.processes = 100\ndb_cache_size=64M\nlatch_generation='11.1'\n"),
        (3, "orcl.open_cursors=300\ncontrol_files=('a', \"b\")\nlocal_listener=(ADDRESS=(PROTOCOL=tcp)(PORT=0))\n"),
        (4, "{\"format\":\"latchwork-top-recording/1\"}\n{}\n"),
        (
            5,
            "name = \"a\"\ntitle = \"b\"\nsetup = \"setup.sql\"\n[sweep]\nsessions = [1, 2]\ngenerations = [\"latchwork\"]\n",
        ),
        (
            5,
            "name = \"a\"\ntitle = \"b\"\nsetup = \"s\"\n[sweep]\nsessions = [1]\ngenerations = [\"11.1\"]\n[[variant]]\n\
             name = \"v\"\ntitle = \"v\"\nworker = \"begin p(:iterations); end;\"\n[measure]\n[[section]]\nkind = \"x\"\n",
        ),
        (1, "c/old/new/\n!ls\n@script &1\n(select 1 from dual);\n<<l>> begin null; end;\n/\n"),
        (2, "/ as sysdba"),
    ];
    texts.iter().map(|(kind, text)| [&[*kind], text.as_bytes()].concat()).collect()
}
