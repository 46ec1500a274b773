//! Loads the real libraries of seven CUDA releases. No GPU is needed: without a driver,
//! each library must return what NVIDIA documents, driver version 0 and code 35.

#![allow(
    unsafe_code,
    reason = "C functions are called as a C program calls them"
)]
#![cfg(target_os = "linux")]

mod support;

use std::ffi::CStr;

use cudart_ffi::loader::Place;
use cudart_ffi::{Cudart, FUNCTIONS, Presence, Search, cudaError_t};
use support::{empty_search, link, real, real_of};

fn load(search: &Search) -> Cudart {
    // SAFETY: the libraries are NVIDIA's, or this machine's own.
    unsafe { Cudart::load(search) }.unwrap_or_else(|error| panic!("{}", error.report()))
}

fn has_driver() -> bool {
    // SAFETY: the library of this name is the driver, if there is one.
    unsafe { cudart_ffi::driver::load_driver() }.is_ok()
}

#[test]
fn every_real_library_loads_and_reports_its_version() {
    for real in real() {
        let cudart = load(&Search::explicit(&real.file));
        assert_eq!(cudart.path.as_deref(), Some(real.file.as_path()));
        // 11.x returns its version only if there is a driver.
        let told = (real.version >= 12000 || has_driver()).then_some(real.version);
        assert_eq!(cudart.runtime_version, told, "{}", real.file.display());
    }
}

#[test]
fn without_a_driver_every_real_library_returns_version_0_and_code_35() {
    if has_driver() {
        eprintln!("SKIPPED: this machine has an NVIDIA driver");
        return;
    }
    for real in real() {
        let cudart = load(&Search::explicit(&real.file));
        assert_eq!(cudart.driver_version, 0, "{}", real.version);
        let mut count = 7;
        // SAFETY: the pointer is valid for the write of an int.
        let code = unsafe { cudart.cudaGetDeviceCount(&raw mut count) };
        assert_eq!(code, cudaError_t::INSUFFICIENT_DRIVER, "{}", real.version);
        assert_eq!(
            count, 7,
            "with code 35 the count is not written ({})",
            real.version
        );
    }
}

#[test]
fn every_real_library_has_the_optional_functions_of_its_version() {
    for real in real() {
        let cudart = load(&Search::explicit(&real.file));
        for function in FUNCTIONS
            .iter()
            .filter(|f| f.presence != Presence::Required)
        {
            let since: Vec<i32> = function
                .since
                .split('.')
                .map(|p| p.parse().unwrap())
                .collect();
            let gone = function.name == "cudaGetDeviceProperties_v2" && real.version >= 13000;
            let there = function.presence == Presence::Optional
                && real.version >= since[0] * 1000 + since[1] * 10
                && !gone;
            assert_eq!(
                cudart.exports(function.name),
                there,
                "{} {}",
                real.version,
                function.name
            );
        }
    }
}

#[test]
fn the_table_has_the_same_code_names_as_every_real_library() {
    for real in real() {
        let cudart = load(&Search::explicit(&real.file));
        for constant in cudart_ffi::CONSTANTS
            .iter()
            .filter(|c| c.type_name == "cudaError_t")
        {
            let code = cudaError_t(i32::try_from(constant.value).unwrap());
            // SAFETY: the function takes a code and returns a static string.
            let name = unsafe { CStr::from_ptr(cudart.cudaGetErrorName(code)) };
            assert_eq!(name.to_str(), Ok(constant.name), "{}", real.version);
        }
    }
}

#[test]
fn of_several_real_toolkits_the_newest_is_used_and_older_ones_stay_usable() {
    let (Some(older), Some(newer)) = (real_of(12090), real_of(13050)) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for (real, place) in [
        (older, "cuda-12.9/lib64/libcudart.so.12"),
        (newer, "cuda-13.5/lib64/libcudart.so.13"),
    ] {
        link(&real.file, &folder.path().join(place));
    }
    let search = Search {
        usr_local: folder.path().to_owned(),
        ..empty_search(folder.path())
    };
    let first = load(&search);
    assert_eq!(
        (first.runtime_version, first.place),
        (Some(13050), Place::UsrLocal)
    );
    let second = load(&Search::explicit(folder.path().join("cuda-12.9")));
    assert_eq!(second.runtime_version, Some(12090));
    let mut version = 0;
    // SAFETY: the pointer is valid for the write of an int.
    let code = unsafe { first.cudaRuntimeGetVersion(&raw mut version) };
    assert_eq!((code, version), (cudaError_t::SUCCESS, 13050));
}
