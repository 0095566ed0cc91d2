//! An experiment's manifest: the set-up, the workers, the sweep and the measured figures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::claims::Claim;
use crate::error::LabError;
use crate::laws::Law;
use crate::results::{GENERATIONS, generation_order};
use crate::sections::Section;
use crate::targets::sheet::{self, Sheet};

/// A manifest, the content of `manifest.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub name: String,
    pub title: String,
    /// The author of the experiment.
    #[serde(default)]
    pub source: String,
    #[serde(default)]
    pub question: String,
    /// Script that each instance runs first, relative to the manifest.
    pub setup: String,
    /// Statement that each instance runs before the measurements.
    #[serde(default)]
    pub warm_up: Option<String>,
    /// Init parameters of every instance.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    pub sweep: Sweep,
    #[serde(rename = "variant")]
    pub variants: Vec<Variant>,
    #[serde(default)]
    pub measure: Measure,
    #[serde(default)]
    pub published: Vec<Published>,
    /// Sections of the report besides throughput and latches.
    #[serde(default, rename = "section")]
    pub sections: Vec<Section>,
    /// Exact counts of an operation.
    #[serde(default, rename = "law")]
    pub laws: Vec<Law>,
    /// Published statements, with the rules by which `lab reproduce` judges them.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// By generation, notes for the reader of its figures.
    #[serde(default)]
    pub notes: BTreeMap<String, String>,
    /// By engine, how it runs the experiment.
    #[serde(default, rename = "target")]
    pub targets: BTreeMap<String, Sheet>,
}

/// The varied parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    pub sessions: Vec<u32>,
    #[serde(default)]
    pub quick_sessions: Vec<u32>,
    /// Operations are done in portions of this size; the operations of a session are a multiple of it.
    #[serde(default = "one")]
    pub portion: u64,
    /// Values of `latch_generation`; each has an instance of its own.
    pub generations: Vec<String>,
}

fn one() -> u64 {
    1
}

/// A variant of the workload.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    pub name: String,
    pub title: String,
    /// The statement that every session executes once a run, with `:iterations` bound.
    pub worker: String,
    /// The first generation with the features that the worker uses; in older ones the variant is not run.
    #[serde(default)]
    pub since: Option<String>,
    /// Run only where it is named: by `--variant`, or as the load of a switchback.
    #[serde(default)]
    pub named_only: bool,
    /// A latch that is held by hand while the sessions work.
    #[serde(default)]
    pub hold: Option<Hold>,
}

impl Variant {
    /// Whether a generation has the features that the worker uses.
    pub fn is_in(&self, generation: &str) -> bool {
        self.since.as_deref().is_none_or(|since| generation_order(generation) >= generation_order(since))
    }
}

/// A latch held by hand for part of a cell.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Names of the latch: the first one that the generation has is used.
    pub latches: Vec<String>,
    pub shared: bool,
    /// The latch is held until all sessions have ended, or no session has got it for this many milliseconds.
    pub ms: u64,
}

/// The figures measured besides time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Each latch by its name, or by all names that generations have for it.
    #[serde(default)]
    pub latches: Vec<LatchName>,
    /// The section whose first figure counts sleeps by place; without it the sleeps of the latches are drawn.
    #[serde(default)]
    pub sleeps: Option<String>,
}

/// The name of a latch, or the names that generations have for one latch.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum LatchName {
    One(String),
    ByGeneration(Vec<String>),
}

impl LatchName {
    pub fn all(&self) -> Vec<String> {
        match self {
            LatchName::One(name) => vec![name.clone()],
            LatchName::ByGeneration(names) => names.clone(),
        }
    }
}

impl Measure {
    /// All names of all latches.
    pub fn names(&self) -> Vec<String> {
        self.latches.iter().flat_map(LatchName::all).collect()
    }
}

/// A published curve.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Description of the work, where machine, year and release do not suffice.
    #[serde(default)]
    pub title: String,
    /// The machine of the measurement.
    pub machine: String,
    /// The year of the publication.
    pub year: u32,
    /// The release of Oracle, as precisely as it was published.
    pub release: String,
    pub variant: String,
    /// The generation that corresponds to the release.
    #[serde(default)]
    pub generation: Option<String>,
    pub sessions: Vec<u32>,
    pub ops_per_s: Vec<f64>,
    #[serde(default)]
    pub gets: Vec<u64>,
    #[serde(default)]
    pub misses: Vec<u64>,
    #[serde(default)]
    pub sleeps: Vec<u64>,
    /// The parameters of its prediction.
    #[serde(default)]
    pub forecast: Option<Frozen>,
    /// Why it is not predicted.
    #[serde(default)]
    pub refused: Option<String>,
}

/// The parameters of a prediction, fixed before it: from the rates of one and two sessions and the misses of two. A
/// control is a whole published column, of the same machine without the latch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frozen {
    /// The hash of all that the prediction is made from: it fails when a figure was changed after it was frozen.
    pub hash: String,
    /// The name of a machine file of the simulator.
    pub machine: String,
    /// Processors in use; all of the machine file's where it is absent.
    #[serde(default)]
    pub cpus: Option<u32>,
    /// Time of a call of one session.
    pub call_us: f64,
    /// Gets of the latch in a call.
    pub gets: u32,
    /// The hold of a get.
    pub hold_us: f64,
    /// The variant without the latch, of the same machine: what slows sessions down besides the latch.
    #[serde(default)]
    pub control: Option<String>,
    /// The assumptions behind the prediction.
    #[serde(default)]
    pub assumed: Option<String>,
}

/// An experiment: its manifest and its set-up script.
#[derive(Clone, Debug)]
pub struct Experiment {
    pub manifest: Manifest,
    pub setup: String,
    /// The set-up scripts of other engines, by the names of their files.
    pub scripts: BTreeMap<String, String>,
    /// The folder of the experiment; `None` for one that ships with the program.
    pub folder: Option<PathBuf>,
}

/// A file of an experiment that ships with the program: its name, and its text.
type File = (&'static str, &'static str);

/// The files of a shipped experiment.
macro_rules! shipped {
    ($folder:literal, $($file:literal),+) => {
        &[$(($file, include_str!(concat!("../../../experiments/", $folder, "/", $file)))),+]
    };
}

/// The experiments that are part of the program.
const SHIPPED: &[&[File]] = &[
    shipped!("row-cache", "manifest.toml", "setup.sql", "postgresql.sql", "mariadb.sql", "sqlite.sql", "duckdb.sql"),
    shipped!("result-cache", "manifest.toml", "setup.sql", "postgresql.sql", "mariadb.sql", "sqlite.sql", "duckdb.sql"),
    shipped!("kill-cpu", "manifest.toml", "setup.sql", "postgresql.sql", "mariadb.sql", "sqlite.sql"),
    shipped!("shared-mode", "manifest.toml", "setup.sql"),
    shipped!("hot-cursor", "manifest.toml", "setup.sql"),
];

/// The reads of `slob` with a manifest, for other engines.
const SLOB: &[File] = shipped!("slob", "manifest.toml", "tables.sql", "postgresql.sql", "mariadb.sql", "sqlite.sql");

impl Experiment {
    /// Reads an experiment from its folder.
    ///
    /// # Errors
    /// Names the missing or wrong part.
    pub fn read(folder: &Path) -> Result<Experiment, LabError> {
        let path = folder.join("manifest.toml");
        let text = std::fs::read_to_string(&path).map_err(|e| LabError::new(format!("{}: {e}", path.display())))?;
        let manifest = text.parse::<Manifest>().map_err(|e| LabError::new(format!("{}: {e}", path.display())))?;
        let setup = folder.join(&manifest.setup);
        let read = |place: PathBuf| -> Result<String, LabError> {
            std::fs::read_to_string(&place).map_err(|e| LabError::new(format!("{}: {e}", place.display())))
        };
        let script = read(setup)?;
        let mut scripts = BTreeMap::new();
        for file in manifest.targets.values().filter_map(|sheet| sheet.setup.clone()) {
            let script = read(folder.join(&file))?;
            scripts.insert(file, script);
        }
        Ok(Experiment { manifest, setup: script, scripts, folder: Some(folder.to_path_buf()) })
    }

    /// The experiments that ship with the program.
    pub fn shipped() -> Vec<Experiment> {
        SHIPPED.iter().map(|files| Experiment::of_files(files)).collect()
    }

    /// The reads of the program `slob`, which other engines run too.
    pub fn slob() -> Experiment {
        Experiment::of_files(SLOB)
    }

    fn of_files(files: &[File]) -> Experiment {
        let text = |name: &str| files.iter().find(|file| file.0 == name).map_or("", |file| file.1);
        let manifest: Manifest = text("manifest.toml").parse().expect("a shipped manifest is right");
        let setup = text(&manifest.setup).to_string();
        let scripts = files.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
        Experiment { manifest, setup, scripts, folder: None }
    }

    /// The set-up script of another engine.
    ///
    /// # Errors
    /// When a shipped experiment does not have it.
    pub fn script(&self, file: &str) -> Result<&str, LabError> {
        let script = self.scripts.get(file).map(String::as_str);
        script.ok_or_else(|| LabError::new(format!("{}: there is no {file}", self.manifest.name)))
    }

    /// Finds an experiment: a shipped one by its name, or any folder with a manifest.
    ///
    /// # Errors
    /// If there is none; the message lists the existing names.
    pub fn find(name: &str) -> Result<Experiment, LabError> {
        let folder = Path::new(name);
        if folder.join("manifest.toml").is_file() {
            return Experiment::read(folder);
        }
        let shipped = Experiment::shipped();
        let names: Vec<String> = shipped.iter().map(|e| e.manifest.name.clone()).collect();
        shipped.into_iter().find(|e| e.manifest.name == name).ok_or_else(|| {
            LabError::new(format!(
                "no experiment '{name}': neither a folder with a manifest.toml nor one of {}",
                names.join(", ")
            ))
        })
    }
}

impl std::str::FromStr for Manifest {
    type Err = String;

    fn from_str(text: &str) -> Result<Manifest, String> {
        let manifest: Manifest = toml::from_str(text).map_err(|e| e.to_string())?;
        check(&manifest)?;
        let variants: Vec<&str> = manifest.variants.iter().map(|v| v.name.as_str()).collect();
        sheet::check(&manifest.targets, &variants, manifest.sweep.portion).map_err(|(at, why)| match at {
            Some(at) => format!("at line {}: {why}", sheet::line_of(text, at)),
            None => why,
        })?;
        Ok(manifest)
    }
}

/// Checks the rules that the types do not express.
pub(crate) fn check(manifest: &Manifest) -> Result<(), String> {
    if manifest.variants.is_empty() {
        return Err("at least one [[variant]] is needed".into());
    }
    if manifest.sweep.sessions.is_empty() || manifest.sweep.sessions.contains(&0) {
        return Err("sweep.sessions needs numbers from 1 on".into());
    }
    if manifest.sweep.portion == 0 {
        return Err("sweep.portion begins at 1".into());
    }
    if manifest.sweep.generations.is_empty() {
        return Err("sweep.generations needs at least one generation, such as \"latchwork\"".into());
    }
    for variant in &manifest.variants {
        if !variant.worker.contains(":iterations") {
            return Err(format!("variant '{}': the worker does not use :iterations", variant.name));
        }
        if let Some(since) = &variant.since
            && !GENERATIONS.contains(&since.as_str())
        {
            return Err(format!("variant '{}': there is no generation '{since}'", variant.name));
        }
    }
    manifest.sections.iter().try_for_each(Section::check)?;
    let variants: Vec<&str> = manifest.variants.iter().map(|v| v.name.as_str()).collect();
    manifest.laws.iter().try_for_each(|law| law.check(&variants))?;
    manifest.claims.iter().try_for_each(|claim| claim.check(&variants))?;
    let is_law = |title: &str| manifest.laws.iter().any(|law| law.title == title);
    if let Some(count) = manifest.claims.iter().filter_map(|c| c.count.as_ref()).find(|c| !is_law(&c.law)) {
        return Err(format!("claim: there is no law '{}'", count.law));
    }
    if let Some(sleeps) = &manifest.measure.sleeps
        && !manifest.sections.iter().any(|section| section.title == *sleeps)
    {
        return Err(format!("measure.sleeps: there is no section '{sleeps}'"));
    }
    for published in &manifest.published {
        if published.sessions.len() != published.ops_per_s.len() {
            let of = format!("published '{}, {}, {}'", published.machine, published.year, published.variant);
            return Err(format!("{of}: sessions and ops_per_s differ in length"));
        }
        if published.forecast.is_some() && published.refused.is_some() {
            let of = format!("published '{}, {}, {}'", published.machine, published.year, published.variant);
            return Err(format!("{of}: a forecast and the reason why there is none"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_experiments_are_right() {
        for experiment in Experiment::shipped() {
            assert!(!experiment.setup.is_empty(), "{}", experiment.manifest.name);
            for sheet in experiment.manifest.targets.values() {
                assert!(sheet.setup.iter().all(|file| experiment.script(file).is_ok_and(|text| !text.is_empty())));
            }
            for published in &experiment.manifest.published {
                assert!(experiment.manifest.variants.iter().any(|v| v.name == published.variant));
                assert!(!published.machine.is_empty() && (1990..2030).contains(&published.year), "{published:?}");
            }
        }
        assert!(Experiment::find("result-cache").is_ok());
        assert!(Experiment::find("no-such").unwrap_err().to_string().contains("result-cache"));
    }

    #[test]
    fn a_wrong_manifest_is_refused_with_the_reason() {
        let good = "name='n'\ntitle='t'\nsetup='s'\n[sweep]\nsessions=[1]\ngenerations=['latchwork']\n\
                    [[variant]]\nname='v'\ntitle='v'\nworker='begin w(:iterations); end;'\n";
        assert!(good.parse::<Manifest>().is_ok());
        let curve = "[[published]]\nmachine='m'\nyear=2008\nrelease='9.2'\nvariant='v'\nsessions=[1]\nops_per_s=[2.0]\n\
                     [measure]\nlatches=['a', ['b', 'c']]\n";
        let manifest: Manifest = format!("{good}{curve}").parse().unwrap();
        assert_eq!(manifest.measure.names(), ["a", "b", "c"]);
        for part in ["machine='m'\n", "year=2008\n", "release='9.2'\n"] {
            let message = format!("{good}{}", curve.replacen(part, "", 1)).parse::<Manifest>().unwrap_err();
            assert!(message.contains(part.split('=').next().unwrap()), "{message}");
        }
        for (from, to, reason) in [
            ("sessions=[1]", "sessions=[0]", "sweep.sessions"),
            (":iterations", "1", ":iterations"),
            ("generations=['latchwork']", "generations=[]", "sweep.generations"),
            ("title='t'", "titel='t'", "titel"),
        ] {
            let message = good.replacen(from, to, 1).parse::<Manifest>().unwrap_err();
            assert!(message.contains(reason), "{message}");
        }
    }
}
