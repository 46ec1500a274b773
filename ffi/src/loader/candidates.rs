//! The places in which the loader looks for a libcudart.

use core::fmt;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::environment;

/// The file names of the CUDA runtime on this platform, newest first.
///
/// On Linux these are the sonames (that of 11.x is `.11.0`), and last the symbolic link
/// without a version, which only development packages install.
pub const SONAMES: &[&str] = if cfg!(windows) {
    &["cudart64_13.dll", "cudart64_12.dll", "cudart64_110.dll"]
} else {
    &[
        "libcudart.so.13",
        "libcudart.so.12",
        "libcudart.so.11.0",
        "libcudart.so",
    ]
};

/// The folders of the library in an installation.
const LIBRARY_DIRECTORIES: &[&str] = if cfg!(windows) {
    &["bin/x64", "bin", "nvidia/cu13/bin/x86_64"]
} else if cfg!(target_arch = "aarch64") {
    &[
        "lib64",
        "lib",
        "targets/sbsa-linux/lib",
        "targets/aarch64-linux/lib",
    ]
} else {
    &["lib64", "lib", "targets/x86_64-linux/lib"]
};

/// The folders of the library in the `site-packages` of a Python environment.
const WHEEL_DIRECTORIES: &[&str] = if cfg!(windows) {
    &["nvidia/cu13/bin/x86_64", "nvidia/cuda_runtime/bin"]
} else {
    &["nvidia/cu13/lib", "nvidia/cuda_runtime/lib"]
};

/// The environment variables that the search reads.
const VARIABLES: &[&str] = &["CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX", "VIRTUAL_ENV"];

/// How a candidate was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The user gave its path.
    Explicit,
    /// The process has already opened it.
    AlreadyLoaded,
    /// The system's search for shared libraries.
    SystemSearch,
    /// An installation that this environment variable names.
    Variable(&'static str),
    /// A toolkit below `/usr/local`.
    UsrLocal,
    /// A wheel in the Python environment that this program is installed in.
    OwnEnvironment,
    /// A wheel in the user's or the system's Python packages.
    PythonPackages,
    /// Functions inside this program.
    BuiltIn,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explicit => f.write_str("path given"),
            Self::AlreadyLoaded => f.write_str("already loaded"),
            Self::SystemSearch => f.write_str("system library search"),
            Self::Variable(name) => f.write_str(name),
            Self::UsrLocal => f.write_str("/usr/local/cuda*"),
            Self::OwnEnvironment => f.write_str("this program's Python environment"),
            Self::PythonPackages => f.write_str("Python packages"),
            Self::BuiltIn => f.write_str("built in"),
        }
    }
}

/// One library to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// How it was found.
    pub place: Place,
    /// A file, or a file name for the system's search.
    pub target: PathBuf,
}

impl Candidate {
    /// Whether an environment variable names the folder by a relative path.
    pub(super) fn is_relative_folder(&self) -> bool {
        matches!(self.place, Place::Variable(_)) && self.target.is_relative()
    }

    /// Whether the candidate is a path at which there is no file and no link.
    pub(super) fn is_absent(&self) -> bool {
        self.is_path() && self.target.symlink_metadata().is_err()
    }

    /// The file after resolving all links.
    pub(super) fn canonical(&self) -> Option<PathBuf> {
        if self.is_path() {
            self.target.canonicalize().ok()
        } else {
            None
        }
    }

    fn is_path(&self) -> bool {
        !matches!(self.place, Place::AlreadyLoaded | Place::SystemSearch)
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.target.display(), self.place)
    }
}

/// The inputs of a search: the given path, the environment, and the system's folders.
#[derive(Debug, Clone)]
pub struct Search {
    /// A file or a directory given by the user. If there is one, the loader tries
    /// nothing else.
    pub explicit: Option<PathBuf>,
    /// The values of the environment variables that name installations.
    pub variables: BTreeMap<&'static str, OsString>,
    /// The folder whose `cuda*` entries are toolkits: `/usr/local`. pip also installs
    /// Python packages there when it runs as root.
    pub usr_local: PathBuf,
    /// The folder of the distribution's own Python packages: `/usr`.
    pub usr: PathBuf,
    /// The user's home folder, where `pip install --user` installs.
    pub home: Option<PathBuf>,
    /// The folders in which a shell looks for `python3`.
    pub path: Vec<PathBuf>,
    /// The folder of this program. `pip install` puts the program into the
    /// environment's `bin` or into its own package.
    pub program: Option<PathBuf>,
    /// Whether to try libraries that the process has opened, and the system's search.
    pub system: bool,
}

impl Search {
    /// A search with this process's environment variables. If the process has more
    /// rights than its user, the variables are ignored ([`environment::variable`]).
    #[must_use]
    pub fn from_environment() -> Self {
        Self {
            explicit: None,
            variables: VARIABLES
                .iter()
                .filter_map(|&name| Some((name, environment::variable(name)?)))
                .filter(|(_, value)| !value.is_empty())
                .collect(),
            usr_local: PathBuf::from("/usr/local"),
            usr: PathBuf::from("/usr"),
            home: environment::variable("HOME")
                .map(PathBuf::from)
                .filter(|home| home.is_absolute()),
            path: environment::variable("PATH")
                .map(|path| std::env::split_paths(&path).collect())
                .unwrap_or_default(),
            program: std::env::current_exe()
                .ok()
                .and_then(|program| Some(program.parent()?.to_owned())),
            system: true,
        }
    }

    /// A search for only this file, or only the libraries in this directory.
    #[must_use]
    pub fn explicit(path: impl Into<PathBuf>) -> Self {
        Self {
            explicit: Some(path.into()),
            ..Self::from_environment()
        }
    }

    /// The candidates in the order in which they are tried. A directory without any of
    /// [`SONAMES`] is left out, and a file that several links lead to is listed once.
    ///
    /// The order is that of NVIDIA's cuda-pathfinder: a library that the process has
    /// already loaded, the Python environment, the conda environment, the system's
    /// search, `CUDA_PATH` and `CUDA_HOME`. Then follow toolkits in `/usr/local`, and
    /// wheels in the user's and the system's Python packages, which are used where no
    /// environment is active.
    #[must_use]
    pub fn candidates(&self) -> Vec<Candidate> {
        if let Some(path) = &self.explicit {
            return explicit(path);
        }
        let mut found = Vec::new();
        self.by_name(Place::AlreadyLoaded, &mut found);
        for root in self
            .program
            .iter()
            .flat_map(|folder| folder.ancestors().take(6))
        {
            // `ENV/bin`, or `ENV/lib/python3.12/site-packages/PACKAGE/bin`.
            if root.join("pyvenv.cfg").is_file() || root.join("conda-meta").is_dir() {
                wheels_below(root, Place::OwnEnvironment, &mut found);
            }
        }
        for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
            if let Some(root) = self.folder(name, &mut found) {
                wheels_below(root, Place::Variable(name), &mut found);
                toolkit(root, Place::Variable(name), &mut found);
            }
        }
        self.by_name(Place::SystemSearch, &mut found);
        for name in ["CUDA_PATH", "CUDA_HOME"] {
            if let Some(root) = self.folder(name, &mut found) {
                toolkit(root, Place::Variable(name), &mut found);
            }
        }
        for root in toolkits_below(&self.usr_local) {
            toolkit(&root, Place::UsrLocal, &mut found);
        }
        for root in self.pythons() {
            wheels_below(&root, Place::PythonPackages, &mut found);
        }
        let home = self.home.as_ref().map(|home| home.join(".local"));
        for root in home.iter().chain([&self.usr_local, &self.usr]) {
            wheels_below(root, Place::PythonPackages, &mut found);
        }
        let mut seen = Vec::new();
        found.retain(|candidate| match candidate.canonical() {
            Some(file) if seen.contains(&file) => false,
            Some(file) => {
                seen.push(file);
                true
            }
            None => true,
        });
        found
    }

    /// The prefixes of the `python3` programs that a shell would find: the prefix of
    /// the file in `PATH`, and that of the file that its links lead to.
    fn pythons(&self) -> Vec<PathBuf> {
        let programs = self
            .path
            .iter()
            .filter(|folder| folder.is_absolute())
            .map(|folder| {
                folder.join(if cfg!(windows) {
                    "python.exe"
                } else {
                    "python3"
                })
            })
            .filter(|program| program.is_file());
        let prefix = |program: &Path| {
            let folder = program.parent()?;
            // On Windows the program is in the prefix itself.
            let prefix = if cfg!(windows) {
                folder
            } else {
                folder.parent()?
            };
            Some(prefix.to_owned())
        };
        programs
            .flat_map(|program| {
                let real = program.canonicalize().ok();
                [prefix(&program), real.as_deref().and_then(prefix)]
            })
            .flatten()
            .collect()
    }

    /// One candidate for each of [`SONAMES`], for a place that finds libraries by file
    /// name.
    fn by_name(&self, place: Place, found: &mut Vec<Candidate>) {
        if self.system {
            found.extend(SONAMES.iter().map(|name| Candidate {
                place,
                target: name.into(),
            }));
        }
    }

    /// The folder that a variable names. A relative folder depends on where the program
    /// was started, and anybody may have put a library there, so it becomes a candidate
    /// that is refused.
    fn folder(&self, name: &'static str, found: &mut Vec<Candidate>) -> Option<&Path> {
        let root = Path::new(self.variables.get(name)?);
        if root.is_absolute() {
            return Some(root);
        }
        found.push(Candidate {
            place: Place::Variable(name),
            target: root.to_owned(),
        });
        None
    }
}

fn explicit(path: &Path) -> Vec<Candidate> {
    if !path.is_dir() {
        // The user means a file. A name without a slash would start the system's
        // search instead.
        let target = if path.components().count() == 1 {
            Path::new(".").join(path)
        } else {
            path.to_owned()
        };
        return vec![Candidate {
            place: Place::Explicit,
            target,
        }];
    }
    let mut found = Vec::new();
    libraries_in(path, Place::Explicit, &mut found);
    toolkit(path, Place::Explicit, &mut found);
    wheels_in(path, Place::Explicit, &mut found);
    wheels_below(path, Place::Explicit, &mut found);
    // The path may be `nvidia` itself, the folder of the wheels.
    for directory in WHEEL_DIRECTORIES {
        if let Ok(below) = Path::new(directory).strip_prefix("nvidia") {
            libraries_in(&path.join(below), Place::Explicit, &mut found);
        }
    }
    found
}

/// The wheels in the Python packages of a prefix, such as `/usr/local` or an environment.
fn wheels_below(root: &Path, place: Place, found: &mut Vec<Candidate>) {
    for packages in python_packages(root) {
        wheels_in(&packages, place, found);
    }
}

/// The wheels in a folder of Python packages.
fn wheels_in(packages: &Path, place: Place, found: &mut Vec<Candidate>) {
    for directory in WHEEL_DIRECTORIES {
        libraries_in(&packages.join(directory), place, found);
    }
}

fn toolkit(root: &Path, place: Place, found: &mut Vec<Candidate>) {
    for directory in LIBRARY_DIRECTORIES {
        libraries_in(&root.join(directory), place, found);
    }
}

fn libraries_in(directory: &Path, place: Place, found: &mut Vec<Candidate>) {
    for name in SONAMES {
        let candidate = Candidate {
            place,
            target: directory.join(name),
        };
        if !candidate.is_absent() {
            found.push(candidate);
        }
    }
}

/// `cuda` first, then `cuda-X.Y` and `cuda-X` with the newest version first.
fn toolkits_below(usr_local: &Path) -> Vec<PathBuf> {
    let mut versioned: Vec<(Vec<u32>, PathBuf)> = sorted_entries(usr_local)
        .filter_map(|path| {
            let version = path.file_name()?.to_str()?.strip_prefix("cuda-")?;
            let parts = version
                .split('.')
                .map(str::parse)
                .collect::<Result<_, _>>()
                .ok()?;
            Some((parts, path))
        })
        .collect();
    versioned.sort_by(|a, b| b.0.cmp(&a.0));
    let plain = usr_local.join("cuda");
    let plain = plain.exists().then_some(plain);
    plain
        .into_iter()
        .chain(versioned.into_iter().map(|(_, path)| path))
        .collect()
}

/// The folders of Python packages below a prefix, of the newest Python first. Debian's own
/// are `dist-packages`.
fn python_packages(root: &Path) -> Vec<PathBuf> {
    let mut pythons: Vec<(u32, PathBuf)> = sorted_entries(&root.join("lib"))
        .filter_map(|path| {
            let rest = path.file_name()?.to_str()?.strip_prefix("python3")?;
            let minor = rest.strip_prefix('.').unwrap_or(rest);
            Some((minor.parse().unwrap_or(0), path))
        })
        .collect();
    pythons.sort_by_key(|(minor, _)| core::cmp::Reverse(*minor));
    let pythons = pythons.into_iter().flat_map(|(_, python)| {
        ["site-packages", "dist-packages"].map(|packages| python.join(packages))
    });
    [root.join("Lib/site-packages")]
        .into_iter()
        .chain(pythons)
        .collect()
}

fn sorted_entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let mut entries: Vec<_> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    entries.sort();
    entries.into_iter()
}
