//! The kernel's machine code: how many instructions ptxas makes of Rust's PTX, and
//! nvcc of the same kernel in C++.

use crate::bench::bed::{Bed, Limit};
use crate::bench::results::{Figure, Quantity, Side, Value};
use crate::kernel::Kernel;
use crate::ptxas;

pub fn measure(bed: &Bed, _: Limit, figure: &mut Figure) -> anyhow::Result<()> {
    let Some(root) = &bed.kit.root else {
        figure
            .skipped
            .push("all of it: needs the repository; no GPU is needed for it".to_owned());
        return Ok(());
    };
    let counts = match ptxas::against_nvcc(root, Kernel::ClockBlock) {
        Ok(counts) => counts,
        Err(error) => {
            figure.skipped.push(format!("all of it: {error:#}"));
            return Ok(());
        }
    };
    figure.columns = Some("sm");
    for count in counts {
        let at = [("sm", u64::from(count.arch))];
        let instructions = |n: u32| Value::Count(u64::from(n));
        figure.row("instructions", Side::Ours, &at, instructions(count.rustc));
        figure.row("instructions", Side::Cpp, &at, instructions(count.cpp));
        figure.bar(
            format!("instructions on sm_{}, no more than nvcc's", count.arch),
            Quantity::Count(f64::from(count.cpp)),
            Quantity::Count(f64::from(count.rustc)),
            None,
        );
    }
    Ok(())
}
