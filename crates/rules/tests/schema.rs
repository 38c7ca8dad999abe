//! The JSON Schema of a definition that editors use is the one of the types.

use baton_protocol::definition::Definition;
use expect_test::expect_file;
use serde_json::json;

const CHARTER: &str = include_str!("data/charter.yaml");

fn schema() -> serde_json::Value {
    let schema = schemars::schema_for!(Definition);
    let mut schema = serde_json::to_value(schema).expect("JSON");
    schema["title"] = json!("A Baton workflow definition");
    schema
}

#[test]
fn the_published_schema_is_up_to_date() {
    let text = serde_json::to_string_pretty(&schema()).expect("JSON") + "\n";
    expect_file!["../../../docs/workflow.schema.json"].assert_eq(&text);
}

#[test]
fn a_definition_fits_it_and_a_misspelt_one_does_not() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let read = |text: &str| serde_saphyr::from_str::<serde_json::Value>(text).expect("YAML");
    let charter = read(CHARTER);
    let said = validator.validate(&charter).map_err(|error| error.to_string());
    assert_eq!(said, Ok(()));
    let misspelt = read(&CHARTER.replacen("next_state:", "next_sate:", 1));
    assert!(!validator.is_valid(&misspelt));
}
