//! The output of a run of `huge-pages`: tables as text, CSV, and one self-contained page.

use super::connect::PARTS;
use super::huge_pages::{Cell, HugePagesRun, Trial};
use super::shapes::{Named, distributions, legend, radar, stacked};
use crate::error::LabError;
use crate::files::write_file;
use crate::html::{STYLE, style_of_fills, style_of_series};
use crate::statistics::{Summary, summary};
use crate::svg::{Plot, Series, escape};
use crate::text::{columns, thousands};
use std::path::Path;

const MB: f64 = 1024.0 * 1024.0;

impl HugePagesRun {
    /// Writes JSON, CSV and the page into a folder.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), LabError> {
        std::fs::create_dir_all(folder).map_err(|e| LabError::new(format!("{}: {e}", folder.display())))?;
        let json = serde_json::to_string_pretty(self).map_err(|e| LabError::new(e.to_string()))?;
        write_file(&folder.join("results.json"), &json)?;
        write_file(&folder.join("results.csv"), &self.csv())?;
        write_file(&folder.join("report.html"), &self.page())
    }

    fn cells(&self) -> Vec<Cell> {
        Cell::all().filter(|cell| self.trials.iter().any(|t| t.cell == *cell)).collect()
    }

    fn of(&self, cell: Cell) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(move |t| t.cell == cell)
    }

    fn summary(&self, cell: Cell, figure: impl Fn(&Trial) -> f64) -> Option<Summary> {
        summary(self.of(cell).map(figure))
    }

    fn median(&self, cell: Cell, figure: impl Fn(&Trial) -> f64) -> f64 {
        self.summary(cell, figure).map_or(0.0, |s| s.median)
    }

    /// Logical reads a second by configuration: the table of the publication, with the interval of the average.
    fn reads_table(&self) -> String {
        let head = ["configuration", "repeats", "average", "median", "std dev", "95 % interval", "least", "greatest"];
        let mut rows = vec![head.map(String::from).to_vec()];
        for cell in self.cells() {
            let Some(s) = self.summary(cell, |t| t.reads_per_s) else { continue };
            let interval = s.interval.map_or("-".into(), |i| format!("± {}", thousands(i)));
            let mut row = vec![cell.name(), s.count.to_string()];
            row.extend([s.average, s.median, s.deviation].map(thousands));
            row.push(interval);
            row.extend([s.least, s.greatest].map(thousands));
            rows.push(row);
        }
        columns(&rows)
    }

    /// The gain of pages of 2 MB over the average, and whether the intervals are disjoint.
    fn gain_table(&self) -> String {
        let mut rows = vec![["", "4 KB", "2 MB", "difference %", "intervals"].map(String::from).to_vec()];
        for cell in self.cells().into_iter().filter(|c| !c.huge) {
            let reads = |huge| self.summary(Cell { huge, ..cell }, |t| t.reads_per_s);
            let (Some(small), Some(huge)) = (reads(false), reads(true)) else { continue };
            let apart = match (small.interval, huge.interval) {
                (Some(a), Some(b)) if (huge.average - small.average).abs() > a + b => "apart",
                (Some(_), Some(_)) => "overlap",
                _ => "-",
            };
            let name = cell.name().replacen("4 KB, ", "", 1);
            let gain = 100.0 * (huge.average / small.average.max(1e-9) - 1.0);
            rows.push(vec![
                name,
                thousands(small.average),
                thousands(huge.average),
                format!("{gain:+.1}"),
                apart.into(),
            ]);
        }
        if rows.len() == 1 { String::new() } else { columns(&rows) }
    }

    /// Page tables and memory, medians in megabytes.
    fn memory_table(&self) -> String {
        let head = [
            "MB",
            "page tables of a session",
            "of the instance",
            "of the machine before",
            "during",
            "after",
            "session shared",
            "session huge",
            "huge pages used",
        ];
        let mut rows = vec![head.map(String::from).to_vec()];
        for cell in self.cells() {
            let mb = |figure: &dyn Fn(&Trial) -> f64| {
                let value = self.median(cell, figure) / MB;
                if value < 100.0 { format!("{value:.1}") } else { thousands(value) }
            };
            let kb = |kilobytes: u64| kilobytes as f64 * 1024.0;
            let used = |t: &Trial| t.during.huge_pages.saturating_sub(t.during.huge_pages_free) as f64 * 2.0 * MB;
            rows.push(vec![
                cell.name(),
                mb(&|t| t.session_page_tables),
                mb(&|t| t.all_page_tables),
                mb(&|t| kb(t.before.page_tables_kb)),
                mb(&|t| kb(t.during.page_tables_kb)),
                mb(&|t| kb(t.after.page_tables_kb)),
                mb(&|t| t.session_shared),
                mb(&|t| t.session_huge),
                mb(&used),
            ]);
        }
        columns(&rows)
    }

    /// Times of starts and connections, medians in milliseconds.
    fn connect_table(&self) -> String {
        let mut head = vec!["ms".to_string(), "start".into(), "program".into(), "client".into(), "listener".into()];
        head.extend(PARTS.map(String::from));
        let mut rows = vec![head];
        for cell in self.cells() {
            let ms = |figure: &dyn Fn(&Trial) -> f64| format!("{:.2}", self.median(cell, figure) / 1000.0);
            let mut row = vec![
                cell.name(),
                ms(&|t| t.start_s * 1e6),
                ms(&|t| t.connect.program_us),
                ms(&|t| t.connect.client_us),
                ms(&|t| t.connect.listener_us),
            ];
            row.extend((0..PARTS.len()).map(|part| ms(&|t| part_us(t, part))));
            rows.push(row);
        }
        columns(&rows)
    }

    /// Times of the server process in a connection through the listener, medians in milliseconds.
    fn listener_table(&self) -> String {
        let mut rows = vec![std::iter::once("ms").chain(PARTS).map(String::from).collect::<Vec<_>>()];
        for cell in self.cells() {
            let ms = |part| format!("{:.2}", self.median(cell, |t: &Trial| listener_part_us(t, part)) / 1000.0);
            rows.push(std::iter::once(cell.name()).chain((0..PARTS.len()).map(ms)).collect());
        }
        columns(&rows)
    }

    /// All tables as text.
    pub fn tables(&self) -> String {
        let mut out = format!("{}: {}\nSGA of {} MB\n", self.experiment, self.title, self.sga_bytes >> 20);
        if let Some(missing) = &self.missing {
            out.push_str(&format!("{missing}\n"));
        }
        for (title, table) in self.all_tables() {
            out.push_str(&format!("\n{title}\n\n{table}"));
        }
        out
    }

    fn all_tables(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("Logical reads a second", self.reads_table()),
            ("What pages of 2 MB add", self.gain_table()),
            ("Page tables and memory, medians", self.memory_table()),
            (
                "Start and connection, medians; program: latchwork sql; client: to the first row, and through the listener with a password; \
                 then by the server process of the local one",
                self.connect_table(),
            ),
            ("A connection through the listener, medians, by the server process", self.listener_table()),
        ];
        all.into_iter().filter(|(_, table)| !table.is_empty()).collect()
    }

    /// One line for each repeat.
    pub fn csv(&self) -> String {
        let mut out = String::from(
            "pages,pre_page,table,repeat,reads_per_s,logical_reads,physical_reads,executions,seconds,cpu_s,start_s,program_us,client_us",
        );
        PARTS.iter().for_each(|part| out.push_str(&format!(",{}_us", part.replace([' ', '-'], "_"))));
        out.push_str(",listener_us");
        PARTS.iter().for_each(|part| out.push_str(&format!(",listener_{}_us", part.replace([' ', '-'], "_"))));
        out.push_str(",session_page_tables,session_shared,session_huge,instance_page_tables");
        for when in ["before", "during", "after"] {
            for figure in ["page_tables_kb", "free_kb", "shared_kb", "huge_pages", "huge_pages_free"] {
                out.push_str(&format!(",{when}_{figure}"));
            }
        }
        out.push('\n');
        for t in &self.trials {
            out.push_str(&format!(
                "{},{},{},{},{:.1},{},{},{},{:.6},{:.2},{:.6},{:.1},{:.1}",
                t.cell.pages(),
                t.cell.pre_page,
                t.cell.table(),
                t.repeat,
                t.reads_per_s,
                t.logical_reads,
                t.physical_reads,
                t.executions,
                t.seconds,
                t.cpu_s,
                t.start_s,
                t.connect.program_us,
                t.connect.client_us
            ));
            (0..PARTS.len()).for_each(|part| out.push_str(&format!(",{:.1}", part_us(t, part))));
            out.push_str(&format!(",{:.1}", t.connect.listener_us));
            (0..PARTS.len()).for_each(|part| out.push_str(&format!(",{:.1}", listener_part_us(t, part))));
            let bytes = [t.session_page_tables, t.session_shared, t.session_huge, t.all_page_tables];
            bytes.iter().for_each(|b| out.push_str(&format!(",{b:.0}")));
            for m in [&t.before, &t.during, &t.after] {
                let figures = [m.page_tables_kb, m.free_kb, m.shared_kb, m.huge_pages, m.huge_pages_free];
                figures.iter().for_each(|f| out.push_str(&format!(",{f}")));
            }
            out.push('\n');
        }
        out
    }

    /// The page.
    pub fn page(&self) -> String {
        let mut out = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
        out.push_str("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
        let title = escape(&self.title);
        out.push_str(&format!(
            "<title>{title}</title><style>{STYLE}{}{}</style></head><body>\n",
            style_of_series(),
            style_of_fills()
        ));
        out.push_str(&format!(
            "<h1>{title}</h1>\n<p class=\"soft\">The instance is started anew for every repeat, the configurations in random order. Sessions \
             read random ranges of their own tables from the cache; two snapshots that one session takes meanwhile say how many buffers \
             they read. With pre-page every process touches all pages of the SGA at its start.</p>\n"
        ));
        if let Some(missing) = &self.missing {
            out.push_str(&format!("<p><strong>{}</strong></p>\n", escape(missing)));
        }
        out.push_str(&self.facts());
        out.push_str("<h2>Logical reads a second</h2>\n");
        for (title, table) in self.all_tables().into_iter().take(2) {
            out.push_str(&format!(
                "<h3>{}</h3><div class=\"tables\"><pre>{}</pre></div>\n",
                escape(title),
                escape(&table)
            ));
        }
        out.push_str(&self.reads_plots());
        out.push_str("<h2>Memory and connections</h2>\n");
        out.push_str(&self.cost_plots());
        for (title, table) in self.all_tables().into_iter().skip(2) {
            out.push_str(&format!(
                "<h3>{}</h3><div class=\"tables\"><pre>{}</pre></div>\n",
                escape(title),
                escape(&table)
            ));
        }
        out.push_str("</body></html>\n");
        out
    }

    fn facts(&self) -> String {
        let host = &self.host;
        let machine =
            format!("{}, {} cores, {} MB, Linux {}", host.cpu, host.cores, host.memory_bytes >> 20, host.kernel);
        let sga = format!("{} MB", self.sga_bytes >> 20);
        let mut out = String::from("<details open><summary>Where and how it was run</summary><dl>");
        let own = [("machine", &machine), ("version", &self.version), ("SGA", &sga)];
        for (name, value) in own.into_iter().chain(self.parameters.iter().map(|(n, v)| (n.as_str(), v))) {
            out.push_str(&format!("<dt>{}</dt><dd>{}</dd>", escape(name), escape(value)));
        }
        out + "</dl></details>\n"
    }

    /// The repeats of every configuration with one size of tables.
    fn reads_of(&self, big: bool) -> Vec<Named> {
        let cells = self.cells().into_iter().filter(|c| c.big == big);
        cells
            .enumerate()
            .map(|(colour, cell)| {
                let mut all: Vec<&Trial> = self.of(cell).collect();
                all.sort_by_key(|t| t.repeat);
                let name = cell.name();
                let name = name.rsplit_once(", ").map_or(name.clone(), |(head, _)| head.to_string());
                Named { name, colour, figures: all.iter().map(|t| t.reads_per_s).collect() }
            })
            .collect()
    }

    fn reads_plots(&self) -> String {
        let mut out = String::from("<div class=\"plots\">\n");
        for (big, which) in [(false, "small tables"), (true, "big tables")] {
            let all = self.reads_of(big);
            if all.is_empty() {
                continue;
            }
            let series = all.iter().map(|named| Series {
                title: named.name.clone(),
                points: named.figures.iter().enumerate().map(|(n, v)| (n as f64 + 1.0, *v)).collect(),
                bars: Vec::new(),
                colour: named.colour,
                marker: named.colour,
                published: false,
                foretold: false,
            });
            let title = format!("By repeat, {which}");
            let line = Plot {
                title: &title,
                x_label: "repeat",
                y_label: "logical reads / s",
                log: false,
                series: series.collect(),
            };
            out.push_str(&figure(&(line.svg() + &line.legend()), "All sessions together."));
            let caption = "The same around a circle; the middle is not zero.";
            out.push_str(&figure(&radar(&format!("Radar, {which}"), &all), caption));
            let shape = distributions(&format!("Distributions, {which}"), "logical reads / s", &all);
            let caption = "A point a repeat; the box holds the middle half, the thick line is the median. The axis does not begin at zero.";
            out.push_str(&figure(&(shape + &legend(&all)), caption));
        }
        out + "</div>\n"
    }

    fn cost_plots(&self) -> String {
        let bars = |figures: &dyn Fn(Cell) -> Vec<f64>| -> Vec<Named> {
            let named = |cell: Cell| Named { name: cell.name(), colour: 0, figures: figures(cell) };
            self.cells().into_iter().map(named).collect()
        };
        let tables = bars(&|cell| vec![self.median(cell, |t| t.all_page_tables) / MB]);
        let one = bars(&|cell| vec![self.median(cell, |t| t.session_page_tables) / MB]);
        let parts =
            bars(&|cell| (0..PARTS.len()).map(|part| self.median(cell, |t| part_us(t, part)) / 1000.0).collect());
        let listener = bars(&|cell| {
            (0..PARTS.len()).map(|part| self.median(cell, |t| listener_part_us(t, part)) / 1000.0).collect()
        });
        let program = bars(&|cell| vec![self.median(cell, |t| t.connect.program_us) / 1000.0]);
        let names = |all: &[&str]| all.iter().map(|n| (*n).to_string()).collect::<Vec<_>>();
        let mut out = String::from("<div class=\"plots\">\n");
        let plots = [
            (
                stacked("Page tables of a session", "MB", &names(&["page tables"]), &one),
                "Of a working session, in the middle of the measured time.",
            ),
            (
                stacked("Page tables of the instance", "MB", &names(&["page tables"]), &tables),
                "All its processes together.",
            ),
            (
                stacked("A local connection, by parts", "ms", &PARTS.map(String::from), &parts),
                "As the server process measures it, to the end of the first call.",
            ),
            (
                stacked("A connection through the listener, by parts", "ms", &PARTS.map(String::from), &listener),
                "As the server process measures it; the password is proved, and its own time only is counted.",
            ),
            (
                stacked("latchwork sql -s / as sysdba, one row", "ms", &names(&["time"]), &program),
                "From the start of the program to its end, as a loop in a shell measures it.",
            ),
        ];
        plots.iter().for_each(|(svg, caption)| out.push_str(&figure(svg, caption)));
        out + "</div>\n"
    }
}

fn part_us(trial: &Trial, part: usize) -> f64 {
    trial.connect.parts_us.get(part).copied().unwrap_or(0.0)
}

fn listener_part_us(trial: &Trial, part: usize) -> f64 {
    trial.connect.listener_parts_us.get(part).copied().unwrap_or(0.0)
}

fn figure(content: &str, caption: &str) -> String {
    format!("<figure>{content}<figcaption>{}</figcaption></figure>\n", escape(caption))
}

#[cfg(test)]
mod tests {
    use crate::slob::huge_pages::tests::example;

    #[test]
    fn tables_page_and_csv_have_every_configuration() {
        let mut run = example();
        let text = run.tables();
        for part in ["4 KB, no pre-page, small", "2 MB, pre-page, big", "± ", "+10.0", "pre-page  authenticate"] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        let csv = run.csv();
        let fields = csv.lines().next().unwrap().matches(',').count();
        assert_eq!(csv.lines().count(), 25);
        assert!(csv.lines().all(|line| line.matches(',').count() == fields), "{csv}");
        run.missing = Some("no <pages>".into());
        let page = run.page();
        assert!(
            page.contains("no &lt;pages&gt;")
                && page.contains("&lt;1G&gt;")
                && !page.contains("<script")
                && !page.contains("http")
        );
        assert_eq!(page.matches("<figure>").count(), 3 * 2 + 5);
    }

    #[test]
    fn a_run_reads_back_as_it_was() {
        let text = serde_json::to_string(&example()).unwrap();
        let back: super::HugePagesRun = serde_json::from_str(&text).unwrap();
        assert_eq!(back.csv(), example().csv());
    }
}
