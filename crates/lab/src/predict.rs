//! `lab predict` and `lab calibrate`: forecasts of a recorded load by the simulator, and the machine files for them.

use std::path::{Path, PathBuf};

use latch_simulator::calibrate::{Effort, machine as measure};
use latch_simulator::checks as told;
use latch_simulator::{Choice, Design, Question, Shard, Trace, check, checked_control, csv, json, parquet, table};

use crate::LabError;
use crate::files::write_file;
use crate::record::{find_machine, machine_beside};

/// Arguments of `lab predict`.
#[derive(clap::Args, Debug)]
pub struct PredictArguments {
    /// The recording, as text or as Parquet
    #[arg(long, value_name = "FILE")]
    trace: PathBuf,
    /// A machine file, or the name of a machine that ships with Latchwork [default: the machine of the recording]
    #[arg(long, value_name = "FILE|NAME")]
    machine: Option<String>,
    /// The machine of the recording: what was counted there is simulated first, and its errors widen the bands
    /// [default: the file that `lab record` has written beside the trace]
    #[arg(long, value_name = "FILE|NAME")]
    recorded_machine: Option<String>,
    /// Numbers of processors, as 12,24,64 [default: all of the machine]
    #[arg(long, value_delimiter = ',')]
    cores: Vec<u32>,
    /// Numbers of sessions, as 1,2,4,8
    #[arg(long, value_delimiter = ',', required = true)]
    sessions: Vec<u32>,
    /// A design for all latches, or DESIGN@LATCH for the latch of this name; may be repeated. The recorded designs are
    /// the base of comparisons
    #[arg(long, value_name = "DESIGN[@LATCH]")]
    design: Vec<String>,
    /// Seed of all draws
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draws of the band
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    draws: u32,
    /// Calls of a session in a simulated cell; each draw of the band has a tenth of them
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(10..=100_000_000))]
    calls: u64,
    /// Only these cells: share i of n
    #[arg(long, value_name = "i/n", default_value_t = Shard::WHOLE)]
    shard: Shard,
    /// Threads to compute with [default: all processors]; figures do not depend on it
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    #[arg(long, value_enum, default_value_t = PredictForm::Table)]
    format: PredictForm,
    /// The file to write to instead of the terminal
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The form of forecasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PredictForm {
    Table,
    Csv,
    /// One object a line
    Json,
    Parquet,
}

/// Arguments of `lab calibrate`.
#[derive(clap::Args, Debug)]
pub struct CalibrateArguments {
    /// Name of the machine
    #[arg(long, default_value = "this machine")]
    name: String,
    /// The file to write to instead of the terminal
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) const PREDICT_EXAMPLES: &str = "Examples:
  latchwork lab calibrate --out here.toml
  latchwork lab predict --trace load.trace --machine here.toml --sessions 1,2,4
  latchwork lab predict --trace load.parquet --machine epyc-7742 --cores 12,64 --sessions 1,12,64 --design versioned
  latchwork lab predict --trace load.trace --machine here.toml --sessions 1,2,4 \\
    --design 'mutex-2@row cache objects' --format csv --out part-2.csv --shard 2/8

Designs: latch-8i, exclusive, shared, mutex-0, mutex-1, mutex-2, hot-copies-K, versioned
Machines: ultrasparc-t2, core-i7-980x, sandy-bridge-e5-2690, broadwell-e5-2680v4, cascade-lake-6242, epyc-7742,
  epyc-7r13, sparc-t4, power7 (literature: transfers only; they have no hand-over curve)

A refused cell has its reason instead of a band. Trace format, machine files and rules: crates/simulator/README.md";

/// `lab predict`.
pub(crate) fn predict(arguments: &PredictArguments) -> Result<(), LabError> {
    let bytes = forecast(arguments)?;
    match &arguments.out {
        Some(file) => std::fs::write(file, bytes).map_err(|e| LabError::new(format!("{}: {e}", file.display()))),
        None if arguments.format == PredictForm::Parquet => {
            Err(LabError::new("--format parquet needs --out FILE".into()))
        }
        None => {
            print!("{}", String::from_utf8_lossy(&bytes));
            Ok(())
        }
    }
}

/// `lab calibrate`.
pub(crate) fn calibrate(arguments: &CalibrateArguments) -> Result<(), LabError> {
    let text = measure(&arguments.name, Effort::default()).map_err(wrong)?.to_text();
    match &arguments.out {
        Some(file) => write_file(file, &text),
        None => {
            print!("{text}");
            Ok(())
        }
    }
}

fn wrong(e: latch_simulator::Error) -> LabError {
    LabError::new(e.to_string())
}

fn forecast(arguments: &PredictArguments) -> Result<Vec<u8>, LabError> {
    let trace = read_trace(&arguments.trace)?;
    let workload = trace.workload();
    let beside = machine_beside(&arguments.trace);
    let recorded = match &arguments.recorded_machine {
        Some(name) => Some(find_machine(name)?),
        None if beside.is_file() => Some(find_machine(&beside.display().to_string())?),
        None => None,
    };
    let machine = match (&arguments.machine, &recorded) {
        (Some(name), _) => find_machine(name)?,
        (None, Some(recorded)) => recorded.clone(),
        (None, None) => {
            return Err(LabError::new(format!(
                "--machine is missing, and {} is not there: lab record writes it, lab calibrate measures another",
                beside.display()
            )));
        }
    };
    let mut checks = Vec::new();
    let mut control = Vec::new();
    if let Some(recorded) = &recorded {
        // On the same processors the counted processor time shows what the model leaves out.
        if machine == *recorded && arguments.cores.iter().all(|cores| *cores == machine.cpus()) {
            control =
                checked_control(&workload, &trace.header, recorded, arguments.seed, arguments.calls).map_err(wrong)?;
        }
        checks = check(&workload, &trace.header, recorded, &control, arguments.seed, arguments.calls).map_err(wrong)?;
    }
    let question = Question {
        workload: &workload,
        header: &trace.header,
        machine: &machine,
        choices: choices(&trace, &arguments.design)?,
        cpus: if arguments.cores.is_empty() { vec![machine.cpus()] } else { arguments.cores.clone() },
        sessions: arguments.sessions.clone(),
        seed: arguments.seed,
        draws: arguments.draws,
        calls: arguments.calls,
        draw_calls: arguments.calls / 10,
        control,
        seen: checks.iter().map(|check| check.seen).collect(),
        threads: arguments.threads.map_or_else(os::cpu::count, |n| n as usize),
        shard: arguments.shard,
    };
    let forecasts = question.answer().map_err(wrong)?;
    Ok(match arguments.format {
        PredictForm::Table => {
            let head = if checks.is_empty() { String::new() } else { told(&checks) + "\n" };
            (head + &table(&forecasts, &question.compare(&forecasts))).into_bytes()
        }
        PredictForm::Csv => csv(&forecasts).into_bytes(),
        PredictForm::Json => json(&forecasts).into_bytes(),
        PredictForm::Parquet => parquet::write_forecasts(&forecasts),
    })
}

fn read_trace(file: &Path) -> Result<Trace, LabError> {
    let bytes = std::fs::read(file).map_err(|e| LabError::new(format!("{}: {e}", file.display())))?;
    let trace = match bytes.starts_with(b"PAR1") {
        true => parquet::read_trace(&bytes),
        false => Trace::parse(&String::from_utf8_lossy(&bytes)),
    };
    trace.map_err(|e| wrong(e.in_file(file.display())))
}

/// The recorded designs, and those that were asked for.
fn choices(trace: &Trace, asked: &[String]) -> Result<Vec<Choice>, LabError> {
    let recorded = trace.designs();
    let mut choices = vec![Choice { name: "recorded".into(), designs: recorded.clone() }];
    for text in asked {
        let (name, latch) = text.split_once('@').map_or((text.as_str(), None), |(name, latch)| (name, Some(latch)));
        let design = Design::named(name).map_err(wrong)?;
        let mut designs = recorded.clone();
        let mut changed = 0;
        for (of, known) in designs.iter_mut().zip(&trace.header.latches) {
            if latch.is_none_or(|latch| latch.eq_ignore_ascii_case(&known.name)) {
                (*of, changed) = (design, changed + 1);
            }
        }
        if changed == 0 {
            let names: Vec<&str> = trace.header.latches.iter().map(|latch| latch.name.as_str()).collect();
            return Err(LabError::new(format!("--design {text}: the recording has the latches {}", names.join(", "))));
        }
        if choices.iter().any(|choice| choice.name == *text) {
            return Err(LabError::new(format!("--design {text} is given twice")));
        }
        choices.push(Choice { name: text.clone(), designs });
    }
    Ok(choices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::fmt::Write as _;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        predict: PredictArguments,
    }

    /// A folder that is removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("latchwork-predict-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
            let path = self.0.join(name);
            std::fs::write(&path, bytes).unwrap();
            path.display().to_string()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn text() -> String {
        let mut text = String::from("latch-trace 1\nname t\nsessions 1\ncall_ns 30000\nlatch 0 exclusive RC Latch\n");
        text += "latch 1 mutex-2 row cache\ncalls 2000\ngets 4000\n";
        for n in 0..2_000 {
            let gap = 1_000 + n * 7_919 % 20_000;
            write!(text, "call 100\nget 0 3 r {gap} 50 same\nget 1 4 w {gap} 60 same\n").unwrap();
        }
        text
    }

    fn answer(arguments: &[&str]) -> Result<Vec<u8>, LabError> {
        let quick = ["predict", "--draws", "4", "--calls", "2000"];
        forecast(&Line::parse_from(quick.iter().chain(arguments)).predict)
    }

    #[test]
    fn forecasts_come_in_every_form_from_both_forms_of_a_trace() {
        let folder = Folder::new("forms");
        let trace = Trace::parse(&text()).unwrap();
        let (plain, file) = (folder.write("a.trace", text()), folder.write("a.parquet", parquet::write_trace(&trace)));
        let common = ["--machine", "cascade-lake-6242", "--cores", "4", "--sessions", "1,4", "--design", "versioned"];
        let of =
            |trace: &str, form: &str| answer(&[&common[..], &["--trace", trace, "--format", form]].concat()).unwrap();
        let table = String::from_utf8(of(&plain, "table")).unwrap();
        assert!(
            table.contains("recorded") && table.contains("versioned against recorded, 4 cpus, 4 sessions"),
            "{table}"
        );
        assert!(!table.contains("refused"), "{table}");
        let counted = folder.write("b.trace", text().replace("calls 2000", "counted 2 60000 0.1 0 31000\ncalls 2000"));
        let arguments = [&common[..], &["--trace", &counted, "--recorded-machine", "cascade-lake-6242"]].concat();
        let checked = String::from_utf8(answer(&arguments).unwrap()).unwrap();
        assert!(checked.starts_with("counted sessions") && checked.contains("60000"), "{checked}");
        let csv = String::from_utf8(of(&plain, "csv")).unwrap();
        assert_eq!(csv.lines().count(), 5, "{csv}");
        assert_eq!(csv, String::from_utf8(of(&file, "csv")).unwrap());
        for line in String::from_utf8(of(&plain, "json")).unwrap().lines() {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(
                value["calls_per_second"].as_f64().unwrap() > 0.0 && value["refused"].as_array().unwrap().is_empty()
            );
        }
        assert!(parquet::read_table(&of(&plain, "parquet")).is_ok());
        let share = |shard: &str| {
            let arguments = [&common[..], &["--trace", &plain, "--format", "csv", "--shard", shard]].concat();
            String::from_utf8(answer(&arguments).unwrap()).unwrap().lines().count()
        };
        assert_eq!((share("1/3"), share("2/3"), share("3/3")), (3, 2, 2), "header and cells");
    }

    /// On the machine of the recording the control has the counted processor time, and the rates that were counted
    /// there are known errors nevertheless.
    #[test]
    fn errors_that_are_known_widen_the_bands_on_the_machine_of_the_recording() {
        let folder = Folder::new("known");
        let with = |rate: &str| text().replace("calls 2000", &format!("counted 2 {rate} 0.1 0 30000\ncalls 2000"));
        let band = |rate: &str| {
            let trace = folder.write(&format!("{rate}.trace"), with(rate));
            let both = ["--machine", "cascade-lake-6242", "--recorded-machine", "cascade-lake-6242"];
            let out =
                answer(&[&both[..], &["--trace", &trace, "--sessions", "2", "--format", "csv"]].concat()).unwrap();
            let csv = String::from_utf8(out).unwrap();
            let mut lines = csv.lines();
            let names: Vec<&str> = lines.next().unwrap().split(',').collect();
            let fields: Vec<&str> = lines.next().unwrap().split(',').collect();
            let of = |name: &str| fields[names.iter().position(|of| *of == name).unwrap()].parse::<f64>().unwrap();
            of("residual")
        };
        // 66,000 calls a second are what two sessions do.
        assert!(band("66000") < 0.06, "{}", band("66000"));
        assert!((band("80000") - 0.19).abs() < 0.05, "{}", band("80000"));
    }

    #[test]
    fn a_recording_that_is_not_what_was_counted_is_refused_with_the_reason() {
        let folder = Folder::new("apart");
        let window = "window 1 2000 17 30000 52000 100 0\ncalls 2000";
        let trace = folder.write("a.trace", text().replace("calls 2000", window));
        let out = answer(&["--machine", "cascade-lake-6242", "--trace", &trace, "--sessions", "1"]).unwrap();
        let table = String::from_utf8(out).unwrap();
        assert!(table.contains("refused: the 2000 recorded calls of 1 sessions take 30000 ns"), "{table}");
        assert!(table.contains("52000 ns of processor time a call"), "{table}");
    }

    #[test]
    fn a_design_may_be_for_one_latch() {
        let trace = Trace::parse(&text()).unwrap();
        let all = choices(&trace, &["versioned@row CACHE".into(), "shared".into()]).unwrap();
        assert_eq!(all[0].designs, [Design::EXCLUSIVE, Design::MUTEX]);
        assert_eq!(all[1].designs, [Design::EXCLUSIVE, Design::VERSIONED]);
        assert_eq!(all[2].designs, [Design::SHARED, Design::SHARED]);
        let fails = |designs: &[&str], says: &str| {
            let designs: Vec<String> = designs.iter().map(|d| (*d).to_owned()).collect();
            let error = choices(&trace, &designs).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        };
        fails(&["ticket"], "there is no design 'ticket'");
        fails(&["shared@x"], "the recording has the latches RC Latch, row cache");
        fails(&["shared", "shared"], "given twice");
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let folder = Folder::new("files");
        let (good, bad) = (folder.write("good.trace", text()), folder.write("bad.trace", "latch-trace 1\nx\n"));
        let bad_machine = folder.write("bad.toml", "name = 3");
        let fails = |trace: &str, machine: &str, says: &str| {
            let error = answer(&["--trace", trace, "--machine", machine, "--sessions", "1"]).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        };
        fails(&bad, "power7", "bad.trace: line 2: 'x' is not understood here");
        fails("/no/such/file", "power7", "/no/such/file: ");
        fails(&good, "no-machine", "no-machine: ");
        fails(&good, "no-machine", "the machines that ship are this-machine, ultrasparc-t2");
        fails(&good, &bad_machine, "bad.toml: line 1: name: expected a text in quotes");
        let error = answer(&["--trace", &good, "--machine", "power7", "--sessions", "1", "--cores", "65"]).unwrap_err();
        assert!(error.to_string().contains("65 processors asked for"), "{error}");
    }
}
