//! The HTML page and the SVG files, as text and in a real browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{bare, on_the_model};
use serde::Deserialize;

/// A run whose page does not depend on how fast this machine is.
fn by_the_virtual_clock() -> crate::support::Scenario {
    on_the_model().args(&["--model-clock", "virtual"])
}

/// The page of a run on the model, of a recorded run on an H200, and of runs that
/// went wrong or were repeated.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let recording = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/recordings/h200-driver-580-cuda-13.0.json"
    );
    let all = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/recordings/h200-driver-580-cuda-13.0-all.json"
    );
    let page = |name: &str| folder.join(name);
    let write = |scenario: crate::support::Scenario, name: &str| {
        scenario
            .args(&["--quiet", "--report"])
            .arg(page(name))
            .ends();
        page(name)
    };
    vec![
        write(bare().args(&["show", recording]), "h200.html"),
        write(
            by_the_virtual_clock().args(&["--repeat", "8"]),
            "repeated.html",
        ),
        write(
            by_the_virtual_clock().args(&["--bytes", "16GiB", "--graphs", "10"]),
            "failing.html",
        ),
        write(
            by_the_virtual_clock().args(&["--spin-time", "1us", "--graphs", "32"]),
            "inconclusive.html",
        ),
        write(
            by_the_virtual_clock().args(&["--graphs", "300"]),
            "many.html",
        ),
        write(bare().args(&["show", all]), "all.html"),
        write(
            by_the_virtual_clock().args(&["--model-profile", "two-devices", "--device", "all"]),
            "two.html",
        ),
        plan(
            folder,
            "plan-dumps.html",
            &["apps/torch_xf.dot", "apps/cupy_sum.dot", "random/g001.dot"],
        ),
        plan(
            folder,
            "plan-branches.html",
            &["../../../../../host/scenarios/forked-branches.toml"],
        ),
        plan(
            folder,
            "plan-verified.html",
            &["random/g053.dot", "--verify", "--backend", "model"],
        ),
    ]
}

/// The page of a plan of recorded dumps.
fn plan(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ffi/model/tests/data/dot");
    let page = folder.join(name);
    let mut scenario = bare()
        .args(&["plan", "--output"])
        .arg(folder.join("plan.txt"));
    for argument in arguments {
        scenario = match argument.contains('.') {
            true => scenario.arg(dumps.join(argument)),
            false => scenario.args(&[argument]),
        };
    }
    let ended = scenario.args(&["--report"]).arg(&page).ends();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    page
}

#[test]
fn a_page_is_one_file_without_scripts() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for page in pages(folder.path()) {
        let text = fs::read_to_string(&page).expect("the page");
        assert!(text.starts_with("<!doctype html>"));
        for foreign in ["<script", "<link", "<img", "@import", "url(", "src="] {
            assert!(!text.contains(foreign), "{}: {foreign}", page.display());
        }
        let own = text.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        assert!(!own.contains("http"), "{}", page.display());
    }
}

#[test]
fn a_page_says_whether_it_was_simulated_or_measured() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let pages = pages(folder.path());
    let simulated = |name: &str| {
        let page = pages.iter().find(|page| page.ends_with(name));
        let text = fs::read_to_string(page.expect(name)).expect("the page");
        text.contains("Simulated, not measured")
    };
    assert!(!simulated("h200.html"));
    assert!(simulated("repeated.html"));
}

#[test]
fn reports_that_cannot_be_written_fail_before_anything_runs() {
    on_the_model()
        .args(&["--report", "no/such/folder/x.html"])
        .ends()
        .refused_with(64, "cannot write");
    let file = env!("CARGO_MANIFEST_DIR").to_owned() + "/Cargo.toml";
    on_the_model()
        .args(&["--svg", &file])
        .ends()
        .refused_with(64, "cannot write");
}

/// What `measure.js` finds.
#[derive(Debug, Deserialize)]
struct Found {
    what: String,
    page_width: f64,
    frame_width: f64,
    smallest_letters_px: f64,
    charts: usize,
    tables: usize,
    named: usize,
    text_contrast: f64,
    chart_text_contrast: f64,
    mark_contrast: f64,
    letters_outside: usize,
    letters_overlapping: usize,
    background: String,
    focusable_scrollers: usize,
    scrollers: usize,
    headings: Vec<u8>,
    links_to_nothing: usize,
    loaded: usize,
}

#[test]
fn pages_can_be_read_in_both_schemes_on_desk_and_phone() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let pages = pages(folder.path());
    for (scheme, background) in [("light", "rgb(255, 255, 255)"), ("dark", "rgb(15, 20, 26)")] {
        for found in browser.measure(&pages, scheme) {
            println!("{scheme}: {found:?}");
            let what = format!("{} {scheme}: {found:#?}", found.what);
            assert_eq!(found.background, background, "{what}");
            assert!(found.page_width <= found.frame_width, "{what}");
            assert!(found.charts > 0 && found.named == found.charts, "{what}");
            assert!(found.tables >= found.charts, "a table for each: {what}");
            assert!(found.smallest_letters_px >= 10.0, "{what}");
            assert!(found.text_contrast >= 4.5, "{what}");
            assert!(found.chart_text_contrast >= 4.5, "{what}");
            assert!(found.mark_contrast >= 3.0, "{what}");
            assert_eq!(found.letters_outside, 0, "{what}");
            assert_eq!(found.letters_overlapping, 0, "{what}");
            assert!(found.scrollers > 0, "{what}");
            assert_eq!(found.focusable_scrollers, found.scrollers, "{what}");
            let skips = |pair: &[u8]| matches!(pair, [a, b] if *b > a + 1);
            assert!(!found.headings.windows(2).any(skips), "{what}");
            assert_eq!((found.links_to_nothing, found.loaded), (0, 0), "{what}");
        }
    }
}

#[test]
fn hostile_names_do_nothing_in_a_browser() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let hostile = "</title><script>document.title='run'</script><img src=x \
                   onerror=\"document.title='run'\">\" onload=\"document.title='run'\" \
                   \u{1b}[2J\u{1}\u{202e}\u{2066}";
    let recorded = include_str!("../recordings/h200-driver-580-cuda-13.0.json");
    let mut result: serde_json::Value = serde_json::from_str(recorded).expect("a result");
    let device = &mut result["devices"][0];
    device["device"]["name"] = hostile.into();
    for experiment in device["experiments"].as_array_mut().expect("a list") {
        for field in ["name", "title", "shows", "teaches"] {
            experiment[field] = hostile.into();
        }
        experiment["steps"][0]["label"] = hostile.into();
        experiment["checks"][0]["claim"] = hostile.into();
        if let Some(allocation) = experiment["allocations"].get_mut(0) {
            allocation["name"] = hostile.into();
        }
    }
    let file = folder.path().join("run.json");
    fs::write(&file, result.to_string()).expect("a file");
    let page = folder.path().join("page.html");
    let charts = folder.path().join("charts");
    let show = bare().args(&["show", "--quiet", "--report"]).arg(&page);
    let ended = show.args(&["--svg"]).arg(&charts).arg(&file).ends();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let Some(browser) = Browser::find() else {
        return;
    };
    let mut seen = vec![page];
    for entry in fs::read_dir(charts).expect("charts") {
        seen.push(entry.expect("an entry").path());
    }
    assert!(seen.len() > 4, "{seen:?}");
    for file in seen {
        let dom = browser.dom(&file, "light");
        let what = file.display();
        let is_page = file.extension().is_some_and(|ending| ending == "html");
        assert!(!dom.contains("<script"), "{what}");
        assert!(!dom.contains("<img"), "{what}");
        assert!(!dom.contains("<title>run"), "{what}");
        assert!(
            !is_page || dom.contains(r"\u{1b}[2J\u{1}\u{202e}\u{2066}"),
            "{what}"
        );
        let active =
            |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{2066}');
        assert!(!dom.contains(active), "{what}");
        // A file that is no XML is shown as the parser's complaint.
        assert!(!dom.contains("parsererror"), "{what}: {dom}");
    }
}

#[test]
fn svg_files_stand_alone() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let ended = on_the_model()
        .args(&["--quiet", "--repeat", "3", "--svg"])
        .arg(folder.path())
        .ends();
    assert_eq!(ended.code, 0);
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .expect("the directory")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    for name in [
        "concurrent-streams-memory.svg",
        "concurrent-streams-streams.svg",
        "repeat-cycles.svg",
    ] {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
    let Some(browser) = Browser::find() else {
        return;
    };
    let images = names.iter().map(|name| {
        let mark = "this.title=this.naturalWidth+'x'+this.naturalHeight";
        format!("<img src=\"{name}\" onload=\"{mark}\">")
    });
    let page = folder.path().join("all.html");
    let text = format!("<!doctype html>{}", images.collect::<String>());
    fs::write(&page, text).expect("a file");
    let dom = browser.dom(&page, "dark");
    for name in names {
        let image = dom.split("<img ").find(|image| image.contains(&name));
        let image = image.unwrap_or_else(|| panic!("{name}: {dom}"));
        assert!(image.contains("title=\"760x"), "{name} is drawn: {image}");
    }
}

/// A headless Chromium.
struct Browser {
    program: PathBuf,
    /// Its profile and the pages that it is given.
    folder: tempfile::TempDir,
}

impl Browser {
    /// `None`, said aloud, where there is none.
    fn find() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
        let found = std::env::split_paths(&path)
            .flat_map(|folder| names.map(|name| folder.join(name)))
            .find(|program| program.is_file());
        match found {
            Some(program) => Some(Self {
                program,
                folder: tempfile::tempdir().expect("a temporary directory"),
            }),
            None => {
                assert!(std::env::var_os("CI").is_none(), "CI has to have chromium");
                println!("SKIPPED: no chromium in PATH (apt-get install chromium)");
                None
            }
        }
    }

    /// Loads a file; returns what it became, after asserting that the browser had
    /// nothing to complain about.
    fn dom(&self, file: &Path, scheme: &str) -> String {
        let scheme = if scheme == "dark" { 0 } else { 1 };
        let output = Command::new(&self.program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--enable-logging=stderr",
                "--window-size=1400,900",
                "--dump-dom",
            ])
            .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
            .arg(format!(
                "--user-data-dir={}",
                self.folder.path().join("profile").display()
            ))
            .arg(format!("file://{}", file.display()))
            .output()
            .expect("the browser starts");
        let log = String::from_utf8_lossy(&output.stderr);
        let complaints: Vec<&str> = log
            .lines()
            .filter(|line| line.contains("CONSOLE"))
            .collect();
        assert!(complaints.is_empty(), "{}: {complaints:?}", file.display());
        assert!(output.status.success(), "{log}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Each page in frames as wide as a phone and as a desk.
    fn measure(&self, pages: &[PathBuf], scheme: &str) -> Vec<Found> {
        let mut frames = String::new();
        for page in pages {
            let text = fs::read_to_string(page).expect("the page");
            let text = text.replace('&', "&amp;").replace('"', "&quot;");
            let name = page.file_name().unwrap_or_default().display();
            for width in [360, 1100] {
                frames += &format!(
                    "<iframe title='{name} at {width}' width={width} height=800 \
                     style='border:0' srcdoc=\"{text}\"></iframe>"
                );
            }
        }
        let script = include_str!("measure.js");
        let head = format!("<!doctype html><meta charset=utf-8><script>{script}</script>");
        let file = self.folder.path().join("frames.html");
        fs::write(&file, format!("{head}<pre id=found></pre>{frames}")).expect("a file");
        let dom = self.dom(&file, scheme);
        let found = dom.split_once("<pre id=\"found\">");
        let found = found.and_then(|(_, rest)| rest.split_once("</pre>"));
        let (json, _) = found.unwrap_or_else(|| panic!("nothing was measured: {dom}"));
        let found: Vec<Found> =
            serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
        assert_eq!(found.len(), 2 * pages.len());
        found
    }
}
