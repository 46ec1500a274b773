//! Reads nvdisasm's listing of a kernel: how long it is, and whether the
//! waiting loop is still there.

use std::collections::HashMap;

/// What the listing of one kernel shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sass {
    /// Instructions without the NOPs that fill up the last line.
    pub instructions: u32,
    /// Backward branches whose loop reads the clock.
    pub clock_loops: u32,
    /// Backward branches, whatever they repeat.
    pub loops: u32,
    /// Reads of the clock.
    pub clock_reads: u32,
}

/// Parses the output of `nvdisasm -c`; `None` when it has no code of `kernel`.
pub fn parse(listing: &str, kernel: &str) -> Option<Sass> {
    let section = format!(".text.{kernel}:");
    let mut lines = listing
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != section);
    lines.next()?;
    let mut sass = Sass::default();
    let mut labels: HashMap<&str, u64> = HashMap::new();
    let mut clock_addresses: Vec<u64> = Vec::new();
    let mut next_labels: Vec<&str> = Vec::new();
    for line in lines.take_while(|line| !line.starts_with("//-") && !line.starts_with(".section")) {
        if let Some(label) = line.strip_suffix(':') {
            next_labels.push(label);
            continue;
        }
        let Some((address, code)) = instruction(line) else {
            continue;
        };
        labels.extend(next_labels.drain(..).map(|label| (label, address)));
        let mut words = code
            .split_whitespace()
            .filter(|word| !word.starts_with('@'));
        let opcode = words.next().unwrap_or_default();
        if opcode.starts_with("NOP") {
            continue;
        }
        sass.instructions += 1;
        if code.contains("SR_CLOCK") {
            sass.clock_reads += 1;
            clock_addresses.push(address);
        }
        if opcode.starts_with("BRA")
            && let Some(target) = branch_target(code).and_then(|label| labels.get(label))
            // A branch to itself is the trap that ptxas puts after EXIT.
            && *target < address
        {
            sass.loops += 1;
            let inside = |clock: &u64| (*target..address).contains(clock);
            sass.clock_loops += u32::from(clock_addresses.iter().any(inside));
        }
    }
    Some(sass)
}

/// `/*0020*/  CS2R R4, SR_CLOCKLO ;` as address and code.
fn instruction(line: &str) -> Option<(u64, &str)> {
    let (address, code) = line.strip_prefix("/*")?.split_once("*/")?;
    let code = code.trim();
    // Data lines start with a directive.
    if code.is_empty() || code.starts_with('.') {
        return None;
    }
    Some((u64::from_str_radix(address, 16).ok()?, code))
}

/// The label in `` `(.L_x_0) ``.
fn branch_target(code: &str) -> Option<&str> {
    let (_, rest) = code.split_once("`(")?;
    rest.split_once(')').map(|(label, _)| label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(body: &str) -> String {
        format!(
            "\t.target\tsm_75\n//--------------------- .text.k --------------------------\n\
             \t.section\t.text.k,\"ax\",@progbits\n        .other          k,@\"STO_CUDA_ENTRY\"\n\
             k:\n.text.k:\n{body}.L_x_9:\n//---------------------\n.text.other:\n\
             /*0000*/ EXIT ;\n"
        )
    }

    #[test]
    fn a_loop_that_reads_the_clock_is_seen() {
        let sass = parse(
            &listing(
                "        /*0000*/                   CS2R R2, SR_CLOCKLO ;\n\
                 .L_x_0:\n\
                 /*0010*/                   CS2R R4, SR_CLOCKLO ;\n\
                 /*0020*/                   IADD3 R0, P0, -R2, R4, RZ ;\n\
                 /*0030*/              @!P0 BRA `(.L_x_0) ;\n\
                 .L_x_2:\n\
                 /*0040*/                   EXIT ;\n\
                 .L_x_1:\n\
                 /*0050*/                   BRA `(.L_x_1);\n\
                 /*0060*/                   NOP;\n",
            ),
            "k",
        )
        .unwrap();
        assert_eq!(sass.instructions, 6);
        assert_eq!((sass.loops, sass.clock_loops, sass.clock_reads), (1, 1, 2));
    }

    #[test]
    fn the_trap_after_exit_is_no_loop() {
        let sass = parse(
            &listing(
                "/*0000*/ CS2R R2, SR_CLOCKLO ;\n/*0010*/ EXIT ;\n.L_x_1:\n\
                 /*0020*/ BRA `(.L_x_1);\n",
            ),
            "k",
        )
        .unwrap();
        assert_eq!((sass.loops, sass.clock_loops), (0, 0));
    }

    #[test]
    fn a_loop_without_the_clock_does_not_count_as_one_with_it() {
        let sass = parse(
            &listing(
                "/*0000*/ CS2R R2, SR_CLOCKLO ;\n.L_x_0:\n/*0010*/ IADD3 R0, R0, 0x1, RZ ;\n\
                 /*0020*/ @P0 BRA `(.L_x_0) ;\n/*0030*/ EXIT ;\n",
            ),
            "k",
        )
        .unwrap();
        assert_eq!((sass.loops, sass.clock_loops, sass.clock_reads), (1, 0, 1));
    }

    #[test]
    fn another_kernel_s_listing_is_none() {
        assert_eq!(parse(&listing("/*0000*/ EXIT ;\n"), "clock_block"), None);
    }
}
