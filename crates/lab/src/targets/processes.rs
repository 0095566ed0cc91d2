//! The processes of an engine: which there are, what they have used, and stopping them while others are measured.
//!
//! Stopped processes must not outlive the laboratory. A small shell waits on a pipe whose other end this program holds.
//! However the program ends, the pipe is closed, and the shell continues the processes of the engine and, where the
//! laboratory has started the engine, ends it and removes its folder. The shell has a process group of its own, so that
//! Ctrl-C at the terminal does not reach it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use os::signal::{SIGCONT, SIGSTOP};

use crate::error::LabError;
use crate::workers::Usage;

/// A process and all that descend from it.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    pub root: u32,
}

impl Tree {
    /// The process numbers, the root's first.
    pub fn members(self) -> Vec<u32> {
        let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            if let Some(parent) = parent_of(process) {
                children.entry(parent).or_default().push(process);
            }
        }
        let (mut out, mut at) = (vec![self.root], 0);
        while let Some(process) = out.get(at).copied() {
            out.extend(children.remove(&process).unwrap_or_default());
            at += 1;
        }
        out
    }

    /// The resources that the processes have used so far. Threads and processes that have ended do not count.
    pub fn used(self) -> Usage {
        self.members().into_iter().map(used_by).fold(Usage::default(), Usage::plus)
    }

    /// Stops all processes; the root first, so that it starts no other.
    pub fn freeze(self) {
        let mut stopped = BTreeSet::new();
        loop {
            let new: Vec<u32> = self.members().into_iter().filter(|process| stopped.insert(*process)).collect();
            if new.is_empty() {
                return;
            }
            new.into_iter().for_each(|process| signal(process, SIGSTOP));
        }
    }

    /// Continues all processes, the root last.
    pub fn thaw(self) {
        self.members().into_iter().rev().for_each(|process| signal(process, SIGCONT));
    }
}

/// A process that has ended meanwhile needs no signal.
fn signal(process: u32, signal: i32) {
    if let Ok(process) = i32::try_from(process) {
        let _ = os::process::kill(process, signal);
    }
}

fn parent_of(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in parentheses, may have spaces.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The sum over the threads of a process.
fn used_by(process: u32) -> Usage {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads.map(|thread| used_in(&thread.path())).fold(Usage::default(), Usage::plus)
}

/// The resources that the calling thread has used so far.
#[cfg(feature = "peers")]
pub fn used_by_this_thread() -> Usage {
    used_in(Path::new("/proc/thread-self"))
}

fn used_in(folder: &Path) -> Usage {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let number = |text: &str| text.trim().parse::<f64>().unwrap_or(0.0);
    let cpu_ns = read("schedstat").split(' ').next().map_or(0.0, number);
    let status = read("status");
    let switches = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).map_or(0.0, number);
    Usage { cpu_s: cpu_ns / 1e9, switches }
}

/// The shell that continues an engine, and ends it where the laboratory has started it, when this program ends.
pub struct Guard {
    shell: Option<Child>,
}

/// How the guard ends an engine.
pub enum End<'a> {
    /// It ends by itself when the laboratory is gone, and removes the folder. If the laboratory dies while the engine
    /// is stopped, the kernel sends SIGHUP to the stopped process group, which is orphaned then; the folder would stay.
    ByItself(&'a Path),
    /// With this signal to its first process; the folder is removed then.
    Signal(&'a str, &'a Path),
}

impl Guard {
    /// # Errors
    /// When the shell cannot be started.
    pub fn of(tree: Tree, end: &End<'_>) -> Result<Guard, LabError> {
        let (signal, folder) = match end {
            End::ByItself(folder) => ("CONT", *folder),
            End::Signal(signal, folder) => (*signal, *folder),
        };
        let mut command = Command::new("sh");
        command.args(["-c", GUARD, "guard", &tree.root.to_string(), signal]).arg(folder);
        Guard::start(command)
    }

    fn start(mut command: Command) -> Result<Guard, LabError> {
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let shell = command.spawn().map_err(|e| LabError::new(format!("sh cannot be run: {e}")))?;
        Ok(Guard { shell: Some(shell) })
    }
}

/// Continues the processes before the signal, because a stopped process handles none but SIGKILL. After ten seconds the
/// first process is killed with its children. The time of birth (field 22 of `stat`) tells the process from a later one
/// with its number; a process that nobody has waited for (`Z`) has ended.
const GUARD: &str = r#"
tree() {
    for p in $(grep -l "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status 2>/dev/null | cut -d/ -f3); do tree "$p"; done
    echo "$1"
}
birth() { sed -n 's/.*) \([^ZX] .*\)/\1/p' "/proc/$1/stat" | cut -d' ' -f20; }
born=$(birth "$1")
runs() { [ -n "$born" ] && [ "$(birth "$1")" = "$born" ]; }
read -r _
if runs "$1"; then
    for p in $(tree "$1"); do kill -CONT "$p"; done
    kill "-$2" "$1"
    for _ in $(seq 100); do runs "$1" || break; sleep 0.1; done
    if runs "$1"; then kill -KILL $(tree "$1"); fi
fi
rm -rf "$3"
"#;

/// A folder for the files of an engine; it is removed however this program ends.
pub struct OwnFolder {
    pub place: PathBuf,
    guard: Guard,
}

/// Removes the folder at the end of the pipe, but not behind a line in it.
const FOLDER_GUARD: &str = "read -r _ || rm -rf \"$1\"";

impl OwnFolder {
    /// # Errors
    /// When it cannot be made.
    pub fn of(engine: &str) -> Result<OwnFolder, LabError> {
        let place = folder_for(engine)?;
        let mut command = Command::new("sh");
        command.args(["-c", FOLDER_GUARD, "guard"]).arg(&place);
        Ok(OwnFolder { place, guard: Guard::start(command)? })
    }

    /// Leaves the folder to another guard.
    pub fn hand_over(mut self) -> PathBuf {
        if let Some(input) = self.guard.shell.as_mut().and_then(|shell| shell.stdin.as_mut()) {
            let _ = input.write_all(b"\n");
        }
        self.place.clone()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut shell) = self.shell.take() {
            drop(shell.stdin.take());
            let _ = shell.wait();
        }
    }
}

/// A new folder for the files of an engine. Only its owner may enter: the servers in it trust whoever reaches their
/// socket. A folder of that name that is there already may be another user's, so it is not taken.
fn folder_for(engine: &str) -> Result<PathBuf, LabError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let place = std::env::temp_dir().join(format!("latchwork-lab-{engine}-{}-{number}", std::process::id()));
        match std::fs::DirBuilder::new().mode(0o700).create(&place) {
            Ok(()) => return Ok(place),
            Err(e) if e.kind() == ErrorKind::AlreadyExists && number < 1000 => {}
            Err(e) => return Err(LabError::new(format!("{}: {e}", place.display()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::ExitStatusExt;

    /// A shell with a child; both sleep.
    fn family() -> (Child, Tree) {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo ready; wait"]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let tree = Tree { root: child.id() };
        (child, tree)
    }

    fn states(tree: Tree) -> String {
        tree.members().into_iter().filter_map(|p| os::process::run_state(p as i32)).collect()
    }

    /// Waits until both processes of the tree have a state for which `wanted` is true.
    fn wait_for(tree: Tree, wanted: fn(char) -> bool) {
        let both = |states: &str| states.len() == 2 && states.chars().all(wanted);
        for _ in 0..2_000 {
            if both(&states(tree)) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let last = states(tree);
        // A stopped process would hold the pipes of the test run.
        tree.members().into_iter().for_each(|process| signal(process, os::signal::SIGKILL));
        panic!("the states are {last}");
    }

    #[test]
    fn a_tree_is_stopped_and_continued_as_a_whole() {
        let (mut child, tree) = family();
        assert_eq!(tree.members().len(), 2);
        tree.freeze();
        wait_for(tree, |state| state == 'T');
        tree.thaw();
        wait_for(tree, |state| state != 'T');
        tree.members().into_iter().for_each(|p| signal(p, os::signal::SIGKILL));
        child.wait().unwrap();
    }

    #[test]
    fn the_guard_continues_and_ends_a_stopped_engine_and_removes_its_folder() {
        let (mut child, tree) = family();
        let place = folder_for("guard-test").unwrap();
        std::fs::write(place.join("file"), "x").unwrap();
        let guard = Guard::of(tree, &End::Signal("TERM", &place)).unwrap();
        let grandchild = tree.members()[1];
        tree.freeze();
        // The parent reaps the ended process meanwhile, as the laboratory does.
        let reaper = std::thread::spawn(move || child.wait().unwrap());
        drop(guard);
        assert!(!place.exists());
        // A process that is still stopped does not die of SIGTERM.
        assert_eq!(reaper.join().unwrap().signal(), Some(15));
        signal(grandchild, os::signal::SIGKILL);
    }

    #[test]
    fn the_guard_leaves_a_process_alone_that_has_the_number_of_an_ended_one() {
        // The guard takes a wrong time of birth for the one of its engine, as if the number had been given anew.
        let (mut child, tree) = family();
        let place = folder_for("guard-test").unwrap();
        let mut command = Command::new("sh");
        let other = GUARD.replace("born=$(birth \"$1\")", "born=1");
        assert_ne!(other, GUARD);
        command.args(["-c", &other, "guard", &tree.root.to_string(), "TERM"]).arg(&place);
        drop(Guard::start(command).unwrap());
        assert!(!place.exists());
        assert!(matches!(child.try_wait(), Ok(None)), "it runs");
        tree.members().into_iter().for_each(|p| signal(p, os::signal::SIGKILL));
        child.wait().unwrap();
    }

    #[test]
    fn a_folder_is_its_owners_alone_and_ends_with_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let folder = OwnFolder::of("guard-test").unwrap();
        std::fs::write(folder.place.join("file"), "x").unwrap();
        let place = folder.place.clone();
        assert_eq!(std::fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700);
        drop(folder);
        assert!(!place.exists());
        let place = OwnFolder::of("guard-test").unwrap().hand_over();
        assert!(place.exists(), "it has another guard now");
        std::fs::remove_dir(place).unwrap();
    }

    #[cfg(feature = "peers")]
    #[test]
    fn a_thread_knows_what_it_has_used() {
        let before = used_by_this_thread();
        let sum = (0..100_000_000).fold(0, |a: u64, b| std::hint::black_box(a.wrapping_mul(31).wrapping_add(b)));
        assert_ne!(sum, 1);
        let of_work = used_by_this_thread().since(before);
        std::thread::sleep(std::time::Duration::from_millis(1));
        let of_sleep = used_by_this_thread().since(before);
        assert!(of_work.cpu_s > 0.0, "{of_work:?}");
        assert!(of_sleep.switches > of_work.switches, "{of_work:?} {of_sleep:?}");
    }
}
