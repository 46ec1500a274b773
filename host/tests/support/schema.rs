//! The published schema of results, and what it says of a value.

use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::Value;

const SCHEMA: &str = include_str!("../../schema/result-v3.schema.json");

fn validator() -> &'static Validator {
    static VALIDATOR: OnceLock<Validator> = OnceLock::new();
    VALIDATOR.get_or_init(|| {
        let schema = serde_json::from_str(SCHEMA).expect("the schema is JSON");
        jsonschema::draft202012::new(&schema).expect("the schema is one")
    })
}

const RECORDING: &str = include_str!("../../schema/watch-v1.schema.json");

/// Asserts that a result of `watch` is as its schema has it.
pub fn assert_valid_recording(json: &Value, what: &str) {
    let schema = serde_json::from_str(RECORDING).expect("the schema is JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is one");
    let faults: Vec<String> = validator
        .iter_errors(json)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{what}:\n{}", faults.join("\n"));
}

/// What is wrong with a result, by place.
pub fn faults(json: &Value) -> Vec<String> {
    let errors = validator().iter_errors(json);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

pub fn assert_valid(json: &Value, what: &str) {
    let faults = faults(json);
    assert!(faults.is_empty(), "{what}:\n{}", faults.join("\n"));
}
