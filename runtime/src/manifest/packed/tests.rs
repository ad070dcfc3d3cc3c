#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

use super::*;

fn parse(text: &str) -> Result<(Packed, Vec<UnknownKey>), PackedError> {
    Packed::parse(Path::new("murmur.yaml"), text.as_bytes())
}

fn packed(more: &str) -> Packed {
    let (packed, unknown) = parse(&format!("name: a\nversion: 1.0.0\n{more}")).unwrap();
    assert_eq!(unknown, []);
    packed
}

fn refusal(text: &str) -> String {
    parse(text).unwrap_err().diagnostic().to_string()
}

fn refused(more: &str) -> String {
    refusal(&format!("name: a\nversion: 1.0.0\n{more}"))
}

#[test]
fn a_manifest_of_three_fields_is_complete() {
    let tool = packed("runtime: tool\n");
    assert_eq!((tool.name.as_str(), tool.version.as_str()), ("a", "1.0.0"));
    assert_eq!((tool.kind, tool.execution), (Kind::Tool, Execution::Wasm));
    assert_eq!((tool.requires_files, tool.tags, tool.description, tool.hook), (vec![], vec![], None, None));
    assert_eq!(Json::Object(tool.input_schema).to_string(), r#"{"type":"object","properties":{}}"#);
}

#[test]
fn the_payload_follows_from_the_kind_unless_execution_says_it() {
    let execution = |more: &str| packed(more).execution;
    assert_eq!(execution("runtime: skill\n"), Execution::Static);
    assert_eq!(execution("runtime: tool\nimplementation: native\n"), Execution::Native);
    assert_eq!(execution("runtime: driver\nimplementation: native\n"), Execution::Wasm);
    assert_eq!(execution("runtime: capsule\nexecution: STATIC\n"), Execution::Static);
    assert_eq!(execution("runtime: tool\nimplementation: native\nexecution: Wasm\n"), Execution::Wasm);
    assert_eq!(execution("runtime: gadget\n"), Execution::Wasm);
    assert_eq!(packed("runtime: gadget\n").kind, Kind::Other("gadget".to_owned()));
}

#[test]
fn a_skill_is_its_text_unless_its_files_are_listed() {
    let files = |more: &str| packed(more).requires_files.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(files("runtime: skill\n"), ["skill.md"]);
    assert_eq!(files("runtime: skill\nrequires_files: []\n"), Vec::<String>::new());
    assert_eq!(files("runtime: tool\nrequires_files: [./b/c, a.wasm, b/c]\n"), ["b/c", "a.wasm"]);
}

#[test]
fn the_input_schema_reads_the_same_as_json_and_as_yaml() {
    let json = packed(
        "runtime: tool\ninput_schema: '{\"type\":\"object\",\"properties\":{\"n\":{\"minimum\":-1.5,\"maximum\":3,\"default\":null}}}'\n",
    );
    let yaml = packed(
        "runtime: tool\ninput_schema:\n  type: object\n  properties:\n    n: {minimum: -1.5, maximum: 3, default: ~}\n",
    );
    assert_eq!(json.input_schema, yaml.input_schema);
    let numbers = packed("runtime: tool\ninput_schema: {a: -3, b: 1e3, c: [0.25, true, x]}\n").input_schema;
    assert_eq!(Json::Object(numbers).to_string(), r#"{"a":-3,"b":1000.0,"c":[0.25,true,"x"]}"#);
}

#[test]
fn a_hook_says_when_it_is_called_and_what_it_may_change() {
    let hook = packed("runtime: hook\nbinding: on-shell\ncommit_policy: deny\n").hook.unwrap();
    assert_eq!(
        (hook.binding, hook.execution_mode, hook.commit_policy),
        (Some(Binding::Shell), ExecutionMode::Blocking, CommitPolicy::Deny)
    );
    let plain = packed("runtime: hook\nexecution_mode: async\n").hook.unwrap();
    assert_eq!((plain.binding, plain.execution_mode), (None, ExecutionMode::Async));
}

#[test]
fn exactly_the_pairs_with_a_meaning_are_allowed() {
    let mut table = String::new();
    for binding in std::iter::once(None).chain(Binding::ALL.iter().copied().map(Some)) {
        let line = binding.map(|binding| format!("binding: {}\n", binding.as_str())).unwrap_or_default();
        let fitting: Vec<&str> = CommitPolicy::ALL
            .iter()
            .map(|policy| policy.as_str())
            .filter(|policy| {
                parse(&format!("name: a\nversion: 1.0.0\nruntime: hook\n{line}commit_policy: {policy}\n")).is_ok()
            })
            .collect();
        table += &format!("{}: {}\n", binding.map_or("every", Binding::as_str), fitting.join(" "));
    }
    insta::assert_snapshot!(table, @r"
    every: none write-manifests replace-context reopen-task seed-context
    on-stage: none write-manifests
    on-session-start: none
    on-task-start: none seed-context
    on-inference: none
    on-tool-call: none deny
    on-shell: none deny
    on-compaction: none replace-context
    on-task-end: none reopen-task
    on-session-end: none
    ");
}

#[test]
fn the_key_stands_once_in_the_value_of_an_allowed_header() {
    let auth = |block: &str| packed(&format!("runtime: driver\nupstream_auth: {block}\n")).upstream_auth.unwrap();
    let good = auth("{header: X-Api-Key, value: \"k {key}\"}").unwrap();
    assert_eq!(good.name().as_str(), "x-api-key");
    assert_eq!(good.value("s").unwrap(), "k s");
    assert_eq!(good.value("a\nb"), None);
    let refusals = [
        "{header: Host, value: \"{key}\"}",
        "{header: \"a b\", value: \"{key}\"}",
        "{header: x, value: none}",
        "{header: x, value: \"{key}{key}\"}",
        "{header: x, value: \"a\\n{key}\"}",
        "{header: x}",
        "{header: 1, value: \"{key}\"}",
        "{header: x, value: \"{key}\", more: 1}",
        "[x]",
    ];
    let shown = refusals.map(|block| auth(block).unwrap_err().to_string());
    insta::assert_snapshot!(shown.join("\n"), @r"
    murmur.yaml:4:25: `upstream_auth.header` says where a request goes or how it is read, and carries no key: `Host`
    murmur.yaml:4:25: `upstream_auth.header` is no header's name: `a b`
    murmur.yaml:4:35: `upstream_auth.value` must hold `{key}` exactly once
    murmur.yaml:4:35: `upstream_auth.value` must hold `{key}` exactly once
    murmur.yaml:4:35: `upstream_auth.value` holds characters that no header may
    murmur.yaml:4:16: `upstream_auth.value` is missing
    murmur.yaml:4:25: `upstream_auth.header` must be a text, found `1`, a number
    murmur.yaml:4:50: `upstream_auth.more` is not a known key
    murmur.yaml:4:16: `upstream_auth` must be a mapping, found a list
    ");
}

#[test]
fn what_cannot_be_used_is_refused_with_its_place() {
    let said = [
        refusal(""),
        refusal("- a\n"),
        refusal("name: a\n"),
        refused(""),
        refusal("name: Scope/Tool\nversion: 1.0.0\nruntime: tool\n"),
        refused("runtime: [tool]\n"),
        refused("runtime: tool\nimplementation: jar\n"),
        refused("runtime: tool\nexecution: jvm\n"),
        refused("runtime: tool\nrequires_files: ../up\n"),
        refused("runtime: tool\nrequires_files: [ok, ../up]\n"),
        refused("runtime: tool\nrequires_files: [1]\n"),
        refused("runtime: tool\ninput_schema: '{'\n"),
        refused("runtime: tool\ninput_schema: '[]'\n"),
        refused("runtime: tool\ninput_schema: {a: .inf}\n"),
        refused("runtime: driver\ninference_auth: {}\n"),
        refused("runtime: hook\nbinding: on-lunch\n"),
        refused("runtime: hook\nbinding: on-inference\ncommit_policy: deny\n"),
        refused("runtime: hook\nbinding: on-stage\nexecution_mode: async\n"),
        refused("runtime: hook\nbinding: on-shell\nexecution_mode: async\ncommit_policy: deny\n"),
    ];
    insta::assert_snapshot!(said.join("\n"), @r#"
    error[E-MAN-001]: murmur.yaml:1:1: `name` is missing
      hint: add `name:` with a name of a-z, 0-9 and `-`
    error[E-MAN-003]: murmur.yaml:1:1: the manifest must be a mapping, found a list
    error[E-MAN-001]: murmur.yaml:1:1: `version` is missing
      hint: add `version: 0.1.0`
    error[E-MAN-001]: murmur.yaml:1:1: `runtime` is missing
      hint: add `runtime:` with what it is: tool, driver, hook, skill or capsule
    error[E-BLD-001]: murmur.yaml:1:7: the name holds `S`, and only a-z, 0-9 and `-` are allowed
      hint: a name has 1 to 100 characters of a-z, 0-9 and inner `-`
    error[E-MAN-003]: murmur.yaml:3:10: `runtime` must be a text, found a list
    error[E-MAN-003]: murmur.yaml:4:17: `implementation` must be wasm or native, found `jar`
    error[E-MAN-003]: murmur.yaml:4:12: `execution` must be one of wasm, native, static, found `jvm`
    error[E-MAN-003]: murmur.yaml:4:17: `requires_files` must be a list, found `../up`
    error[E-BLD-002]: murmur.yaml:4:22: `requires_files` names `../up`: the path holds `.` or `..`
      hint: name files below the directory of murmur.yaml, with `/` between the parts
    error[E-MAN-003]: murmur.yaml:4:18: `requires_files[0]` must be a text, found `1`, a number
      hint: put it in quotes: "1"
    error[E-MAN-003]: murmur.yaml:4:15: `input_schema` is not JSON: EOF while parsing an object at line 1 column 1, counted within the value
      hint: correct the JSON, or write the schema as a YAML mapping
    error[E-MAN-003]: murmur.yaml:4:15: `input_schema` must be a JSON object or a mapping, found `[]`
    error[E-MAN-003]: murmur.yaml:4:19: `input_schema.a` must be a number that JSON can hold, found `.inf`
    error[E-BLD-004]: murmur.yaml:4:1: `inference_auth` is no longer read
      hint: rename the block to `upstream_auth`
    error[E-MAN-003]: murmur.yaml:4:10: `binding` must be one of on-stage, on-session-start, on-task-start, on-inference, on-tool-call, on-shell, on-compaction, on-task-end, on-session-end, found `on-lunch`
    error[E-MAN-003]: murmur.yaml:5:16: `commit_policy: deny` has no meaning for on-inference
      hint: what fits is none
    error[E-MAN-003]: murmur.yaml:5:17: `execution_mode: async` has no meaning for on-stage
      hint: leave `execution_mode` out
    error[E-MAN-003]: murmur.yaml:6:16: `commit_policy: deny` needs an answer, and `execution_mode: async` awaits none
      hint: use `execution_mode: blocking`, or `commit_policy: none`
    "#);
}

#[test]
fn keys_that_nobody_reads_are_told_with_the_nearest_known_one() {
    let unknown = |more: &str| {
        let (_, unknown) = parse(&format!("name: a\nversion: 1.0.0\n{more}")).unwrap();
        unknown.iter().map(|key| key.diagnostic().text().to_owned()).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(unknown("runtime: tool\ndescripton: x\ncapabilities: {}\nbinding: on-stage\n"), @r"
    murmur.yaml:4:1: `descripton` is not a known key and has no effect; did you mean `description`?
    murmur.yaml:5:1: `capabilities` is not a known key and has no effect
    murmur.yaml:6:1: `binding` is not a known key and has no effect
    ");
    assert_eq!(unknown("runtime: capsule\ncapabilities: {}\ninference: {}\n"), "");
    assert_eq!(unknown("runtime: hook\nbinding: on-stage\n"), "");
}

#[test]
fn credentials_are_found_by_their_keys_and_by_their_beginnings() {
    let text = "\
name: a
inference: {api_key: abcdefgh1234, model: sk-tiny}
list: [plain text, ghp_0123456789]
gateway: {api_key: \"${NAME}\", token: short}
upstream_auth: {header: x, value: \"Bearer {key}\"}
input_schema: {properties: {token: sk-0123456789}}
key: it is written in a book
";
    let found = Packed::literal_credentials(Path::new("murmur.yaml"), text.as_bytes());
    let shown: Vec<String> = found.iter().map(|(place, field)| format!("{place} {field}")).collect();
    assert_eq!(shown, ["murmur.yaml:2:22 inference.api_key", "murmur.yaml:3:20 list[1]"]);
    assert!(Packed::literal_credentials(Path::new("murmur.yaml"), b"[").is_empty());
}
