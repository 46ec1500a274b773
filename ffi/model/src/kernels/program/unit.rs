//! The functions and variables of a PTX text, without its kernels.

use std::collections::HashMap;

use cudart_ffi::ptx::without_comments;

/// The largest total size of a module's variables in bytes.
const MOST: u64 = 256 << 20;

/// A function that kernels call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Function {
    /// The names of its results; the names of its parameters follow.
    pub results: Vec<String>,
    pub parameters: Vec<String>,
    pub body: String,
}

/// The place of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the module's memory, at this address.
    Module(u64),
    /// In shared memory: its size in bytes, and its alignment. A dynamic array has the
    /// size 0.
    Shared {
        bytes: u64,
        align: u64,
        dynamic: bool,
    },
}

/// A variable of a module in global or constant memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The offset of its first byte in the module's memory.
    pub offset: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its initial content. The remaining bytes are zero.
    pub content: Vec<u8>,
    /// Whether it is in constant memory.
    pub is_constant: bool,
}

/// A PTX text without its kernels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unit {
    pub(super) functions: HashMap<String, Function>,
    shared: HashMap<String, Place>,
    variables: Vec<Variable>,
    /// The address of the module's memory.
    start: u64,
}

/// A declaration of a variable.
#[derive(Debug)]
pub(super) struct Declared<'t> {
    pub space: &'t str,
    pub name: &'t str,
    pub align: u64,
    pub bytes: u64,
    element: u64,
    /// `name[]`.
    pub open: bool,
    initial: Option<&'t str>,
}

impl Unit {
    /// Reads a text. Variables that cannot be read are left out, and kernels that use
    /// them have no program.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let code = without_comments(text.trim_end_matches('\0'));
        let mut unit = Self::default();
        let mut at = 0_u64;
        for (head, body) in statements(&code) {
            if head.split_whitespace().any(|word| word == ".entry") {
                continue;
            }
            if head.split_whitespace().any(|word| word == ".func") {
                if let Some((name, function)) = body.and_then(|body| function(head, body)) {
                    unit.functions.insert(name, function);
                }
                continue;
            }
            let Some(declared) = declaration(head) else {
                continue;
            };
            match declared.space {
                ".shared" => {
                    let place = Place::Shared {
                        bytes: declared.bytes,
                        align: declared.align,
                        dynamic: declared.open,
                    };
                    unit.shared.insert(declared.name.to_owned(), place);
                }
                ".global" | ".const" => {
                    let Some(content) = declared.content() else {
                        continue;
                    };
                    let offset = at.next_multiple_of(declared.align);
                    if offset.saturating_add(declared.bytes) > MOST {
                        continue;
                    }
                    at = offset + declared.bytes;
                    unit.variables.push(Variable {
                        name: declared.name.to_owned(),
                        offset,
                        bytes: declared.bytes,
                        content,
                        is_constant: declared.space == ".const",
                    });
                }
                _ => {}
            }
        }
        unit
    }

    /// Sets the address at which the module's memory starts.
    pub fn place_at(&mut self, start: u64) {
        self.start = start;
    }

    /// The variables in global and constant memory.
    #[must_use]
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The place of a variable.
    pub(super) fn place(&self, name: &str) -> Option<Place> {
        let variable = self.variables.iter().find(|variable| variable.name == name);
        variable
            .map(|variable| Place::Module(self.start + variable.offset))
            .or_else(|| self.shared.get(name).copied())
    }
}

/// The statements outside of functions, each with the body in braces that follows it.
fn statements(code: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = code;
    std::iter::from_fn(move || {
        let mut depth = 0_usize;
        let mut start = None;
        let mut initial = false;
        for (at, c) in rest.char_indices() {
            match c {
                '=' if depth == 0 => initial = true,
                '{' => {
                    depth += 1;
                    if depth == 1 && !initial {
                        start = Some(at);
                    }
                }
                '}' => {
                    depth = depth.saturating_sub(1);
                    if let (0, Some(start)) = (depth, start) {
                        let found = (rest.get(..start)?, rest.get(start..=at));
                        rest = rest.get(at + 1..)?;
                        return Some(found);
                    }
                }
                ';' if depth == 0 => {
                    let found = rest.get(..at)?;
                    rest = rest.get(at + 1..)?;
                    return Some((found, None));
                }
                _ => {}
            }
        }
        None
    })
}

/// `.func (.param .b32 result) name (.param .b32 first, ...)`.
fn function(head: &str, body: &str) -> Option<(String, Function)> {
    let (_, after) = head.split_once(".func")?;
    let after = after.trim();
    let (results, after) = match after.strip_prefix('(') {
        Some(inside) => inside.split_once(')')?,
        None => ("", after),
    };
    let (name, parameters) = match after.split_once('(') {
        Some((name, parameters)) => (name, parameters.split_once(')')?.0),
        None => (after, ""),
    };
    // The name may be followed by directives.
    let name = name.split_whitespace().next()?;
    let names = |list: &str| -> Option<Vec<String>> {
        list.split(',')
            .map(str::trim)
            .filter(|parameter| !parameter.is_empty())
            .map(|parameter| {
                let name = parameter.split_whitespace().last()?;
                Some(name.split('[').next()?.to_owned())
            })
            .collect()
    };
    let function = Function {
        results: names(results)?,
        parameters: names(parameters)?,
        body: body.to_owned(),
    };
    Some((name.to_owned(), function))
}

/// `.global .align 4 .b8 name[16] = {1, 2}`, without a linking directive such as
/// `.visible`.
pub(super) fn declaration(statement: &str) -> Option<Declared<'_>> {
    let (left, initial) = match statement.split_once('=') {
        Some((left, initial)) => (left, Some(initial.trim())),
        None => (statement, None),
    };
    let (left, dimensions) = match left.find('[') {
        Some(at) => left.split_at(at),
        None => (left, ""),
    };
    let mut space = None;
    let mut align = None;
    let mut element = None;
    let mut times = 1;
    let mut name = None;
    let mut words = left.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            ".global" | ".const" | ".shared" | ".local" => space = Some(word),
            ".align" => align = Some(words.next()?.parse::<u64>().ok()?),
            ".v2" => times = 2,
            ".v4" => times = 4,
            ".visible" | ".extern" | ".weak" | ".common" | ".managed" => {}
            word if word.starts_with('.') => {
                let bits: u64 = word.get(2..)?.parse().ok()?;
                let known = matches!(bits, 8 | 16 | 32 | 64) && "busf".contains(word.get(1..2)?);
                element = known.then_some(bits / 8);
                element?;
            }
            word => name = Some(word),
        }
    }
    let element: u64 = element?;
    let mut bytes = element * times;
    let mut open = false;
    for dimension in dimensions.split('[').skip(1) {
        let dimension = dimension.split(']').next()?.trim();
        if dimension.is_empty() {
            open = true;
            bytes = 0;
        } else {
            bytes = bytes.checked_mul(dimension.parse().ok()?)?;
        }
    }
    let align = align.unwrap_or(element * times);
    Some(Declared {
        space: space?,
        name: name?,
        align: align.is_power_of_two().then_some(align)?,
        bytes,
        element,
        open,
        initial,
    })
}

impl Declared<'_> {
    /// The initial bytes of a variable; `None` if they are not numbers.
    fn content(&self) -> Option<Vec<u8>> {
        if self.open {
            return None;
        }
        let Some(initial) = self.initial else {
            return Some(Vec::new());
        };
        let mut content = Vec::new();
        let numbers = initial.split(|c: char| matches!(c, '{' | '}' | ',') || c.is_whitespace());
        for number in numbers.filter(|number| !number.is_empty()) {
            let value = super::read::number(number)?;
            content.extend(value.to_le_bytes().get(..self.element as usize)?);
        }
        (content.len() as u64 <= self.bytes).then_some(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_and_functions_are_found_beside_kernels() {
        let mut unit = Unit::parse(
            ".version 8.0\n.target sm_60\n.address_size 64\n\
             .extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b)\n;\n\
             .global .align 1 .b8 $str[4] = {72, 105, 10};\n\
             .visible .global .align 4 .u32 count = 7;\n\
             .const .align 8 .b8 table[2][8] = {{1}, {2}};\n\
             .global .align 8 .u64 pointer = generic(count);\n\
             .shared .align 4 .b8 tile[64];\n.extern .shared .align 16 .b8 rest[];\n\
             .func (.param .b32 back) twice(\n.param .b32 given\n)\n{ { ret; } }\n\
             .visible .entry k(.param .u64 p) { .shared .b32 own; ret; }\n",
        );
        unit.place_at(0x1000);
        assert_eq!(unit.place("$str"), Some(Place::Module(0x1000)));
        assert_eq!(unit.place("count"), Some(Place::Module(0x1004)));
        assert_eq!(unit.place("table"), Some(Place::Module(0x1008)));
        assert_eq!(unit.place("pointer"), None);
        assert_eq!(unit.variables()[0].content, [72, 105, 10]);
        assert_eq!(unit.variables()[1].content, [7, 0, 0, 0]);
        let shared = |bytes, align, dynamic| {
            Some(Place::Shared {
                bytes,
                align,
                dynamic,
            })
        };
        assert_eq!(unit.place("tile"), shared(64, 4, false));
        assert_eq!(unit.place("rest"), shared(0, 16, true));
        let twice = &unit.functions["twice"];
        assert_eq!((twice.results.len(), &*twice.parameters[0]), (1, "given"));
        assert_eq!(twice.body, "{ { ret; } }");
        assert!(!unit.functions.contains_key("vprintf"));
    }
}
