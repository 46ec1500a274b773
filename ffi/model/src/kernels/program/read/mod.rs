//! Reads a PTX body into a [`Program`]: statements, names, and calls of functions, whose
//! bodies are inlined.

mod arithmetic;
mod decode;

use std::collections::HashMap;

use super::operation::{Instruction, Operation, Reg};
use super::unit::{Function, Place, Unit, declaration};
use super::{Program, Special};

/// The largest nesting depth of calls. The next constant limits the length of the program
/// with all inlined calls.
const MOST_DEPTH: usize = 16;
const MOST_LINES: usize = 1 << 17;
/// The largest number of registers of a thread.
const MOST_REGISTERS: usize = 1 << 14;
/// The largest size in bytes of a thread's local memory, and of a block's shared memory.
const MOST_LOCAL: u64 = 64 << 10;
const MOST_SHARED: u64 = 227 << 10;
/// The characters that enclose and separate statements.
const BLOCK: [char; 6] = ['{', '}', ' ', '\t', '\r', '\n'];

impl Program {
    /// Reads the body of a kernel, without comments. `parameters` are its names in
    /// order, and `unit` contains the functions and variables of the same PTX. `None`
    /// if the body contains an instruction that [the module](crate::kernels::program)
    /// does not list.
    #[must_use]
    pub fn parse(body: &str, parameters: &[&str], unit: &Unit) -> Option<Self> {
        let mut reader = Reader {
            parameters,
            unit,
            scopes: Vec::new(),
            lines: Vec::new(),
            labels: HashMap::new(),
            registers: HashMap::new(),
            count: 0,
            numbers: HashMap::new(),
            specials: HashMap::new(),
            local: HashMap::new(),
            local_bytes: 0,
            shared: HashMap::new(),
            shared_bytes: 0,
            dynamic: Vec::new(),
        };
        reader.expand(body, Scope::default(), 0)?;
        // Dynamic shared memory follows static shared memory.
        let dynamic_align = reader
            .dynamic
            .iter()
            .map(|&(_, align)| align)
            .max()
            .unwrap_or(1);
        let dynamic_start = reader.shared_bytes.next_multiple_of(dynamic_align);
        for (name, _) in std::mem::take(&mut reader.dynamic) {
            reader.shared.insert(name, dynamic_start);
        }
        let lines = std::mem::take(&mut reader.lines);
        let mut instructions = Vec::with_capacity(lines.len());
        for (scope, line) in lines {
            instructions.push(reader.instruction(scope, line)?);
        }
        let fits = (reader.count as usize) <= MOST_REGISTERS
            && reader.local_bytes <= MOST_LOCAL
            && dynamic_start <= MOST_SHARED;
        fits.then(|| Self {
            instructions,
            registers: reader.count as usize,
            numbers: reader
                .numbers
                .into_iter()
                .map(|(number, at)| (at, number))
                .collect(),
            specials: reader
                .specials
                .into_iter()
                .map(|(special, at)| (at, special))
                .collect(),
            shared_bytes: dynamic_start as usize,
            local_bytes: reader.local_bytes as usize,
        })
    }
}

/// The parameters of a function at one of its calls: for each, the scope and the name
/// there.
type Bound = HashMap<String, (usize, String)>;

/// The names of the kernel's body, or of an inlined function at one of its calls.
#[derive(Debug, Default)]
struct Scope {
    /// Names of registers. Of `%r<12>`, the name without the number.
    declared: Vec<String>,
    /// Names of the parameters that its calls pass. Each is treated as a register.
    passed: Vec<String>,
    /// The function's own parameters: their names in the scope that calls it.
    bound: Bound,
    /// The label at the end of the function; `None` for the kernel.
    end: Option<usize>,
}

/// Translates lines into instructions.
struct Reader<'t> {
    parameters: &'t [&'t str],
    unit: &'t Unit,
    scopes: Vec<Scope>,
    /// Lines, each with its scope.
    lines: Vec<(usize, &'t str)>,
    labels: HashMap<(usize, &'t str), usize>,
    registers: HashMap<(usize, String), Reg>,
    count: Reg,
    numbers: HashMap<u64, Reg>,
    specials: HashMap<Special, Reg>,
    /// Offsets of arrays in a thread's local memory.
    local: HashMap<(usize, String), u64>,
    local_bytes: u64,
    shared: HashMap<String, u64>,
    shared_bytes: u64,
    /// Names and alignments of dynamic shared arrays.
    dynamic: Vec<(String, u64)>,
}

impl<'t> Reader<'t> {
    /// Adds the statements of a body.
    fn expand(&mut self, body: &'t str, scope: Scope, depth: usize) -> Option<()> {
        let own = self.scopes.len();
        self.scopes.push(scope);
        let inner = body.trim().strip_prefix('{')?.strip_suffix('}')?;
        for statement in inner.split(';') {
            // A call is in its own block, with the parameters that it passes.
            let mut statement = statement.trim_start_matches(BLOCK).trim_end();
            while let Some((label, rest)) = statement.split_once(':')
                && !label.contains(char::is_whitespace)
                && !label.contains('.')
                && !rest.starts_with(':')
            {
                self.labels.insert((own, label), self.lines.len());
                statement = rest.trim_start_matches(BLOCK);
            }
            let first = statement.split_whitespace().next().unwrap_or("");
            match first {
                "" | ".loc" | ".pragma" => {}
                ".reg" => self.declare(own, statement)?,
                ".param" => {
                    let name = statement.split_whitespace().last()?;
                    let name = name.split('[').next()?;
                    self.scopes.get_mut(own)?.passed.push(name.to_owned());
                }
                ".local" | ".shared" => self.array(own, statement)?,
                _ if first.starts_with('.') => return None,
                _ => {
                    if self.lines.len() >= MOST_LINES {
                        return None;
                    }
                    self.note_shared(statement);
                    match self.called(own, statement)? {
                        Some((function, bound)) => {
                            if depth >= MOST_DEPTH {
                                return None;
                            }
                            let inside = Scope {
                                bound,
                                end: Some(0),
                                ..Scope::default()
                            };
                            let scope = self.scopes.len();
                            self.expand(&function.body, inside, depth + 1)?;
                            let end = self.lines.len();
                            self.scopes.get_mut(scope)?.end = Some(end);
                        }
                        None => self.lines.push((own, statement)),
                    }
                }
            }
        }
        Some(())
    }

    /// The function of the unit that a statement calls, and its parameters. A
    /// conditional call cannot be inlined.
    fn called(&self, own: usize, statement: &'t str) -> Option<Option<(&'t Function, Bound)>> {
        let Some((results, name, given)) = call(statement) else {
            return Some(None);
        };
        let Some(function) = self.unit.functions.get(name) else {
            return Some(None);
        };
        if results.len() != function.results.len() || given.len() != function.parameters.len() {
            return None;
        }
        let outer = results.iter().chain(&given);
        let inner = function.results.iter().chain(&function.parameters);
        let bound = inner
            .zip(outer)
            .map(|(inner, &outer)| (inner.clone(), (own, outer.to_owned())))
            .collect();
        Some(Some((function, bound)))
    }

    /// ` .b64 %rd<12>`, ` .b32 %r1, %r2`.
    fn declare(&mut self, own: usize, statement: &str) -> Option<()> {
        let declaration = statement.strip_prefix(".reg")?.trim();
        let (_, names) = declaration.split_once(char::is_whitespace)?;
        for name in names.split(',').map(str::trim) {
            let name = name.split_once('<').map_or(name, |(name, _)| name);
            self.scopes.get_mut(own)?.declared.push(name.to_owned());
        }
        Some(())
    }

    /// An array in local or shared memory.
    fn array(&mut self, own: usize, statement: &str) -> Option<()> {
        let declared = declaration(statement)?;
        if declared.space == ".local" {
            let offset = self.local_bytes.next_multiple_of(declared.align);
            self.local_bytes = offset.checked_add(declared.bytes)?;
            self.local.insert((own, declared.name.to_owned()), offset);
        } else {
            let offset = self.shared_bytes.next_multiple_of(declared.align);
            self.shared_bytes = offset.checked_add(declared.bytes)?;
            self.shared.insert(declared.name.to_owned(), offset);
        }
        Some(())
    }

    /// Assigns addresses to the shared variables of the unit that a statement names.
    fn note_shared(&mut self, statement: &str) {
        let names =
            statement.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '%')));
        for name in names {
            let known =
                self.shared.contains_key(name) || self.dynamic.iter().any(|(n, _)| n == name);
            if known {
                continue;
            }
            match self.unit.place(name) {
                Some(Place::Shared {
                    dynamic: true,
                    align,
                    ..
                }) => {
                    self.dynamic.push((name.to_owned(), align));
                }
                Some(Place::Shared { bytes, align, .. }) => {
                    let offset = self.shared_bytes.next_multiple_of(align);
                    self.shared_bytes = offset.saturating_add(bytes);
                    self.shared.insert(name.to_owned(), offset);
                }
                Some(Place::Module(_)) | None => {}
            }
        }
    }

    fn instruction(&mut self, scope: usize, line: &'t str) -> Option<Instruction> {
        let (guard, line) = match line.strip_prefix('@') {
            None => (None, line),
            Some(guarded) => {
                let (predicate, rest) = guarded.trim_start().split_once(char::is_whitespace)?;
                let (name, wanted) = match predicate.strip_prefix('!') {
                    Some(name) => (name, false),
                    None => (predicate, true),
                };
                (Some((self.register(scope, name)?, wanted)), rest.trim())
            }
        };
        let what = self.operation(scope, line)?;
        Some(Instruction { guard, what })
    }

    /// The position of a label.
    fn label(&self, scope: usize, name: &str) -> Option<usize> {
        self.labels.get(&(scope, name)).copied()
    }

    /// A new register.
    fn fresh(&mut self) -> Reg {
        self.count += 1;
        self.count - 1
    }

    /// The register with a constant number.
    fn number(&mut self, number: u64) -> Reg {
        if let Some(&known) = self.numbers.get(&number) {
            return known;
        }
        let register = self.fresh();
        self.numbers.insert(number, register);
        register
    }

    /// The register for a name in a scope.
    fn named(&mut self, scope: usize, name: String) -> Reg {
        if let Some(&known) = self.registers.get(&(scope, name.clone())) {
            return known;
        }
        let register = self.fresh();
        self.registers.insert((scope, name), register);
        register
    }

    /// A declared register by its name. Each gets its own number.
    fn register(&mut self, scope: usize, name: &str) -> Option<Reg> {
        let family = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let declared = &self.scopes.get(scope)?.declared;
        if !declared.iter().any(|d| d == name || d == family) {
            return None;
        }
        Some(self.named(scope, name.to_owned()))
    }

    /// The register for the bytes of a call's parameter, in the scope that first passed
    /// it.
    fn passed(&mut self, scope: usize, name: &str, offset: u64) -> Option<Reg> {
        let (mut scope, mut name) = (scope, name.to_owned());
        loop {
            let here = self.scopes.get(scope)?;
            if here.passed.contains(&name) {
                return Some(self.named(scope, format!("{name}+{offset}")));
            }
            (scope, name) = here.bound.get(&name)?.clone();
        }
    }

    /// A number, a register, a special register, or the address of a variable.
    fn operand(&mut self, scope: usize, text: &str) -> Option<Reg> {
        if let Some(special) = Special::parse(text) {
            if let Some(&known) = self.specials.get(&special) {
                return Some(known);
            }
            let register = self.fresh();
            self.specials.insert(special, register);
            return Some(register);
        }
        if let Some(number) = number(text) {
            return Some(self.number(number));
        }
        if let Some(register) = self.register(scope, text) {
            return Some(register);
        }
        let address = self.variable(scope, text)?;
        Some(self.number(address))
    }

    /// The address of a variable in its state space.
    fn variable(&self, scope: usize, name: &str) -> Option<u64> {
        if let Some(&offset) = self.local.get(&(scope, name.to_owned())) {
            return Some(offset);
        }
        if let Some(&offset) = self.shared.get(name) {
            return Some(offset);
        }
        match self.unit.place(name)? {
            Place::Module(address) => Some(address),
            Place::Shared { .. } => None,
        }
    }

    /// `ret`: the end of the kernel, or of the inlined function.
    fn end_of(&self, scope: usize) -> Option<Operation> {
        Some(match self.scopes.get(scope)?.end {
            None => Operation::Return,
            Some(to) => Operation::Jump { to },
        })
    }
}

/// The names in `call.uni (results), name, (parameters)`. `None` for a statement that is
/// not a call, and for a conditional call.
fn call(statement: &str) -> Option<(Vec<&str>, &str, Vec<&str>)> {
    let (opcode, rest) = statement.split_once(char::is_whitespace)?;
    if !matches!(opcode, "call" | "call.uni") {
        return None;
    }
    fn list(text: &str) -> Vec<&str> {
        text.split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect()
    }
    let rest = rest.trim();
    let (results, rest) = match rest.strip_prefix('(') {
        Some(inside) => {
            let (results, rest) = inside.split_once(')')?;
            (
                list(results),
                rest.trim_start().strip_prefix(',')?.trim_start(),
            )
        }
        None => (Vec::new(), rest),
    };
    let (name, given) = match rest.split_once(',') {
        Some((name, given)) => {
            let given = given.trim().strip_prefix('(')?.split_once(')')?.0;
            (name.trim(), list(given))
        }
        None => (rest, Vec::new()),
    };
    Some((results, name, given))
}

/// A constant: an integer with the syntax of C, or the bits of a floating-point number.
pub(super) fn number(text: &str) -> Option<u64> {
    if let Some(bits) = text.strip_prefix("0f").or_else(|| text.strip_prefix("0F")) {
        return u32::from_str_radix(bits, 16).ok().map(u64::from);
    }
    if let Some(bits) = text.strip_prefix("0d").or_else(|| text.strip_prefix("0D")) {
        return u64::from_str_radix(bits, 16).ok();
    }
    if text == "WARP_SZ" {
        return Some(32);
    }
    let text = text.strip_suffix('U').unwrap_or(text);
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text
            .parse::<i64>()
            .map(i64::cast_unsigned)
            .or_else(|_| text.parse())
            .ok(),
    }
}
