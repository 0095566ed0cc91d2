//! The files of a run: results that are read, and texts that are written.

use crate::error::LabError;
use std::path::{Path, PathBuf};

/// The results of a run: the path of the file, and its content.
pub(crate) fn results_at(place: &Path) -> Result<(PathBuf, serde_json::Value), LabError> {
    let file = if place.is_dir() { place.join("results.json") } else { place.to_path_buf() };
    let text = std::fs::read_to_string(&file).map_err(|e| {
        LabError::new(format!("{}: {e}\nGive the folder of a run, or its results.json.", file.display()))
    })?;
    let kind = serde_json::from_str(&text).map_err(|e| LabError::new(format!("{}: {e}", file.display())))?;
    Ok((file, kind))
}

pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), LabError> {
    std::fs::write(path, text).map_err(|e| LabError::new(format!("{}: {e}", path.display())))
}
