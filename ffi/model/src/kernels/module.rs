//! What the model reads in a PTX text: entries, their parameters, and whether
//! an entry spins by the clock.

use std::sync::Arc;

use cudart_ffi::cudaError_t;
use cudart_ffi::ptx::PtxHeader;

use crate::kernels::program::Program;
use crate::profile::Profile;

/// A kernel: how long it runs, and what it writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelCode {
    /// The entry's name.
    pub name: String,
    /// Bytes of each parameter.
    pub parameter_bytes: Vec<usize>,
    /// It reads `%clock` or `%clock64`: taken as spinning for as many SM clocks
    /// as its first 64-bit parameter says.
    pub reads_clock: bool,
    /// What it does to memory, if the model can run it.
    pub program: Option<Arc<Program>>,
}

impl KernelCode {
    /// Which parameter says how long the kernel spins, if it does.
    #[must_use]
    pub fn spin_parameter(&self) -> Option<usize> {
        self.reads_clock
            .then(|| self.parameter_bytes.iter().position(|&bytes| bytes == 8))
            .flatten()
    }
}

/// Why a PTX text was refused: the code, and the line for the error log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// 218, 222 or 209.
    pub code: cudaError_t,
    /// What a person reads in the log buffer.
    pub log: String,
}

/// Reads the kernels of a PTX text for the profile's driver and device.
///
/// # Errors
///
/// 218 for what is no PTX, 222 for a `.version` newer than the driver, 209 for a
/// `.target` that the device cannot run.
pub fn load(text: &str, profile: &Profile) -> Result<Vec<KernelCode>, Refused> {
    let refuse = |code, log: String| Refused { code, log };
    let header = PtxHeader::parse(text)
        .map_err(|error| refuse(cudaError_t::INVALID_PTX, error.to_string()))?;
    let [major, minor] = profile.compute_capability;
    header
        .check(profile.driver_version, (major, minor))
        .map_err(|refusal| refuse(refusal.code(), refusal.to_string()))?;
    let code = without_comments(text);
    entries(&code).map_err(|log| refuse(cudaError_t::INVALID_PTX, log))
}

fn entries(code: &str) -> Result<Vec<KernelCode>, String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = next_directive(rest, ".entry") {
        let after = rest.get(at..).unwrap_or_default().trim_start();
        let name_end = after
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
            .unwrap_or(after.len());
        let (name, after) = after.split_at(name_end);
        if name.is_empty() {
            return Err("an .entry has no name".to_owned());
        }
        let open = after
            .find('{')
            .ok_or_else(|| format!("the entry {name} has no body"))?;
        let (signature, body_on) = after.split_at(open);
        let length = closing_brace(body_on)
            .ok_or_else(|| format!("the body of the entry {name} does not end"))?;
        let (body, after) = body_on.split_at(length);
        found.push(KernelCode {
            name: name.to_owned(),
            parameter_bytes: parameters(signature, name)?,
            reads_clock: body
                .split(|c: char| !(c.is_alphanumeric() || c == '%' || c == '_'))
                .any(|word| matches!(word, "%clock" | "%clock64")),
            program: Program::parse(body, &parameter_names(signature)).map(Arc::new),
        });
        rest = after;
    }
    if closing_imbalance(code) {
        return Err("braces do not match".to_owned());
    }
    Ok(found)
}

/// Where the text after the next whole word `directive` begins.
fn next_directive(text: &str, directive: &str) -> Option<usize> {
    text.match_indices(directive)
        .map(|(at, word)| at + word.len())
        .find(|&end| {
            text.get(end..)
                .and_then(|t| t.chars().next())
                .is_some_and(char::is_whitespace)
        })
}

/// Length of the block that starts at the first byte, its braces included.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn closing_imbalance(code: &str) -> bool {
    code.matches('{').count() != code.matches('}').count()
}

fn parameters(signature: &str, entry: &str) -> Result<Vec<usize>, String> {
    let Some((_, list)) = signature.split_once('(') else {
        return Ok(Vec::new());
    };
    let (list, _) = list
        .split_once(')')
        .ok_or_else(|| format!("the parameters of the entry {entry} do not end"))?;
    list.split(',')
        .map(str::trim)
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| {
            parameter_bytes(parameter)
                .ok_or_else(|| format!("a parameter of the entry {entry} is not one: {parameter}"))
        })
        .collect()
}

/// The last word of each parameter, without what an array has after it.
fn parameter_names(signature: &str) -> Vec<&str> {
    let list = signature.split_once('(').map_or("", |(_, list)| list);
    let list = list.split_once(')').map_or("", |(list, _)| list);
    let last = |parameter: &'_ str| -> Option<usize> {
        parameter.split_whitespace().next_back().map(str::len)
    };
    list.split(',')
        .map(str::trim)
        .filter_map(|parameter| parameter.get(parameter.len() - last(parameter)?..))
        .map(|name| name.split_once('[').map_or(name, |(name, _)| name))
        .collect()
}

/// Bytes of `.param .u64 name` or `.param .align 8 .b8 name[40]`.
fn parameter_bytes(parameter: &str) -> Option<usize> {
    let mut words = parameter.split_whitespace();
    if words.next() != Some(".param") {
        return None;
    }
    let element = parameter.split_whitespace().find_map(|word| {
        let digits = word
            .strip_prefix(['.'])?
            .strip_prefix(['u', 's', 'b', 'f'])?;
        let bits: usize = digits.parse().ok()?;
        matches!(bits, 8 | 16 | 32 | 64).then_some(bits / 8)
    })?;
    let count = match parameter.split_once('[') {
        Some((_, count)) => count.split_once(']')?.0.trim().parse().ok()?,
        None => 1,
    };
    element.checked_mul(count)
}

fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let (before, comment) = rest.split_at(at);
        code.push_str(before);
        let length = if comment.starts_with("//") {
            comment.find('\n').unwrap_or(comment.len())
        } else if comment.starts_with("/*") {
            comment.find("*/").map_or(comment.len(), |end| end + 2)
        } else {
            code.push('/');
            1
        };
        if length > 1 {
            code.push(' ');
        }
        rest = comment.get(length..).unwrap_or_default();
    }
    code.push_str(rest);
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIN: &str = "\
// made by hand
.version 6.5
.target sm_50
.address_size 64
.visible .entry spin(.param .u32 lanes, .param .u64 clocks)
{
    .reg .b64 %rd<4>;
    { mov.u64 %rd1, %clock64; } /* } */
    ret;
}
.visible .entry plain(
    .param .align 8 .b8 block[40]
)
{
    // %clock64 in a comment is not read
    ret;
}
";

    #[test]
    fn entries_parameters_and_clock_reads_are_found() {
        let kernels = load(SPIN, &Profile::default()).unwrap();
        assert_eq!(kernels.len(), 2);
        assert_eq!(kernels[0].name, "spin");
        assert_eq!(kernels[0].parameter_bytes, [4, 8]);
        assert_eq!(kernels[0].spin_parameter(), Some(1));
        assert_eq!(kernels[1].name, "plain");
        assert_eq!(kernels[1].parameter_bytes, [40]);
        assert_eq!(kernels[1].spin_parameter(), None);
    }

    #[test]
    fn text_that_is_no_ptx_is_218() {
        let profile = Profile::default();
        for text in [
            "",
            "hello",
            ".version 6.5\n.target sm_50\n.entry k() {",
            ".version 6.5\n.target sm_50\n.entry k(int x) { }",
        ] {
            let refused = load(text, &profile).unwrap_err();
            assert_eq!(refused.code, cudaError_t::INVALID_PTX, "{text:?}");
            assert!(!refused.log.is_empty());
        }
    }

    #[test]
    fn a_version_newer_than_the_driver_is_222_and_a_target_above_the_device_209() {
        let profile = Profile {
            driver_version: 11040,
            ..Profile::default()
        };
        let newer = SPIN.replace("6.5", "8.8");
        assert_eq!(
            load(&newer, &profile).unwrap_err().code,
            cudaError_t::UNSUPPORTED_PTX_VERSION
        );
        let above = SPIN.replace("sm_50", "sm_100");
        assert_eq!(
            load(&above, &Profile::default()).unwrap_err().code,
            cudaError_t::NO_KERNEL_IMAGE_FOR_DEVICE
        );
    }
}
