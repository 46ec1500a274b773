//! Outputs leave what was there until they are whole, and no name gets around that.

use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;

use safe_io::{OutputError, Outputs};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// A folder with a file `old` in it.
fn folder() -> Result<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let old = folder.path().join("old");
    fs::write(&old, "old text")?;
    Ok((folder, old))
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Every other way to spell a file in a folder that is there.
fn spellings(folder: &Path, file: &Path) -> Result<Vec<PathBuf>> {
    let name = file.file_name().ok_or("a file has a name")?;
    let [soft, hard, chain, inner] =
        ["soft", "hard", "chain", "inner"].map(|name| folder.join(name));
    symlink(file, &soft)?;
    symlink("soft", &chain)?;
    fs::hard_link(file, &hard)?;
    fs::create_dir(&inner)?;
    Ok(vec![
        file.to_owned(),
        folder.join(".").join(name),
        inner.join("..").join(name),
        soft,
        chain,
        hard,
    ])
}

#[test]
fn an_old_file_stays_until_the_new_one_is_whole() -> Result {
    let (folder, old) = folder()?;
    let outputs = Outputs::default();
    let mut output = outputs.open(&old)?;
    // More than any buffer holds.
    let text = "new text ".repeat(100_000);
    output.write_all(text.as_bytes())?;
    assert_eq!(fs::read_to_string(&old)?, "old text");
    outputs.commit()?;
    assert_eq!(fs::read_to_string(&old)?, text);
    assert_eq!(names(folder.path())?, ["old"]);
    Ok(())
}

#[test]
fn outputs_that_are_dropped_leave_no_trace() -> Result {
    let (folder, old) = folder()?;
    let new = folder.path().join("new");
    let outputs = Outputs::default();
    for path in [&old, &new] {
        outputs.open(path)?.write_all(&[b'x'; 1 << 20])?;
    }
    drop(outputs);
    assert_eq!(fs::read_to_string(&old)?, "old text");
    assert_eq!(names(folder.path())?, ["old"]);
    Ok(())
}

#[test]
fn an_output_without_text_is_an_empty_file() -> Result {
    let (_folder, old) = folder()?;
    let outputs = Outputs::default();
    let _ = outputs.open(&old)?;
    outputs.commit()?;
    assert_eq!(fs::read_to_string(&old)?, "");
    Ok(())
}

#[test]
fn an_input_is_refused_however_it_is_spelt() -> Result {
    let (folder, old) = folder()?;
    for input in spellings(folder.path(), &old)? {
        for output in [
            &old,
            &folder.path().join("hard"),
            &folder.path().join("chain"),
        ] {
            let refused = Outputs::new([&input]).open(output);
            assert!(
                matches!(refused, Err(OutputError::IsInput(_))),
                "{} and {}: {refused:?}",
                input.display(),
                output.display()
            );
        }
    }
    assert_eq!(fs::read_to_string(&old)?, "old text");
    Ok(())
}

#[test]
fn every_file_of_a_folder_that_is_read_is_an_input() -> Result {
    let (folder, old) = folder()?;
    let inner = folder.path().join("inner");
    fs::create_dir(&inner)?;
    fs::write(inner.join("deep"), "")?;
    fs::hard_link(&old, folder.path().join("hard"))?;
    let outputs = Outputs::new([folder.path()]);
    for name in ["old", "inner/deep", "inner/../hard"] {
        let refused = outputs.open(&folder.path().join(name));
        assert!(matches!(refused, Err(OutputError::IsInput(_))), "{name}");
    }
    let _ = outputs.open(&folder.path().join("inner/new"))?;
    Ok(())
}

#[test]
fn an_input_that_becomes_known_late_is_not_replaced() -> Result {
    let (folder, old) = folder()?;
    let first = folder.path().join("first");
    let outputs = Outputs::default();
    let _ = outputs.open(&first)?;
    outputs.open(&old)?.write_all(b"new text")?;
    outputs.add_input(&old);
    assert!(matches!(outputs.commit(), Err(OutputError::IsInput(_))));
    assert_eq!(fs::read_to_string(&old)?, "old text");
    assert_eq!(
        names(folder.path())?,
        ["old"],
        "nor is another put in place"
    );
    Ok(())
}

#[test]
fn two_outputs_are_never_one_file() -> Result {
    let (folder, old) = folder()?;
    let mut pairs: Vec<(PathBuf, PathBuf)> = spellings(folder.path(), &old)?
        .into_iter()
        .map(|spelling| (old.clone(), spelling))
        .collect();
    // Files that are not there yet, and a link to one.
    let new = folder.path().join("new");
    let link = folder.path().join("link");
    symlink("new", &link)?;
    pairs.push((new.clone(), folder.path().join("inner/../new")));
    pairs.push((link, new));
    for (a, b) in pairs {
        let outputs = Outputs::default();
        let _ = outputs.open(&a)?;
        let second = outputs.open(&b);
        assert!(
            matches!(second, Err(OutputError::Twice(..))),
            "{} and {}: {second:?}",
            a.display(),
            b.display()
        );
    }
    // The null device takes what any number write.
    let outputs = Outputs::default();
    for _ in 0..2 {
        outputs.open(Path::new("/dev/null"))?.write_all(b"x")?;
    }
    outputs.commit()?;
    Ok(())
}

#[test]
fn what_cannot_be_written_is_refused_at_once() -> Result {
    let (folder, old) = folder()?;
    let sub = folder.path().join("sub");
    fs::create_dir(&sub)?;
    let longest = folder.path().join("x".repeat(300));
    let loops = folder.path().join("loops");
    symlink("loops", &loops)?;
    for path in [
        sub,
        folder.path().join("missing/file"),
        folder.path().join("new/"),
        old.join("below"),
        longest,
        loops,
        PathBuf::from(""),
        PathBuf::from("/"),
        PathBuf::from(".."),
    ] {
        let refused = Outputs::default().open(&path);
        assert!(
            matches!(refused, Err(OutputError::Unwritable { .. })),
            "{}: {refused:?}",
            path.display()
        );
    }
    assert!(Outputs::default().check_folder(&old).is_err());
    assert!(Outputs::default().check_folder(&old.join("x/y")).is_err());
    let fresh = folder.path().join("a/b/c");
    Outputs::default().check_folder(&fresh)?;
    assert!(!folder.path().join("a").exists(), "only looked at");
    Ok(())
}

#[test]
fn a_link_stays_a_link_and_permissions_stay() -> Result {
    let (folder, old) = folder()?;
    fs::set_permissions(&old, fs::Permissions::from_mode(0o640))?;
    let link = folder.path().join("link");
    symlink("old", &link)?;
    safe_io::write(&link, "new text")?;
    assert!(fs::symlink_metadata(&link)?.is_symlink());
    assert_eq!(fs::read_to_string(&old)?, "new text");
    assert_eq!(fs::metadata(&old)?.permissions().mode() & 0o777, 0o640);
    // A new file is like any other new file here.
    let (new, other) = (folder.path().join("new"), folder.path().join("other"));
    safe_io::write(&new, "")?;
    fs::write(&other, "")?;
    assert_eq!(
        fs::metadata(&new)?.permissions(),
        fs::metadata(&other)?.permissions()
    );
    Ok(())
}

#[test]
fn a_pipe_is_written_as_it_comes_and_stays_a_pipe() -> Result {
    let (folder, _) = folder()?;
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status()?;
    assert!(made.success());
    let reader = {
        let pipe = pipe.clone();
        thread::spawn(move || {
            let mut text = String::new();
            fs::File::open(pipe)?
                .read_to_string(&mut text)
                .map(|_| text)
        })
    };
    safe_io::write(&pipe, "text")?;
    assert_eq!(reader.join().map_err(|_| "the reader panicked")??, "text");
    assert!(!fs::metadata(&pipe)?.is_file());
    Ok(())
}

#[test]
fn a_full_device_is_an_error() {
    let full = safe_io::write(Path::new("/dev/full"), "text");
    assert!(
        matches!(full, Err(OutputError::Unwritable { .. })),
        "{full:?}"
    );
}
