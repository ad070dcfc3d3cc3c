//! What is read of a manifest, and what is refused with which words.

use std::path::Path;

use super::super::{Containment, Warning};
use super::*;

/// The smallest manifest, with more below it.
fn with(rest: &str) -> String {
    format!("name: demo\nversion: 0.1.0\n{rest}")
}

fn reading(text: &str) -> Reading {
    manifest(Path::new("murmur.yaml"), text)
}

fn read(text: &str) -> Result<(Manifest, Vec<Warning>), ManifestError> {
    let Reading { warnings, outcome } = reading(text);
    outcome.map(|manifest| (manifest, warnings))
}

/// What a person sees for each text: the text, then every warning, then the refusal, or what a session would refuse.
fn shown<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let mut out = String::new();
    for text in texts {
        let text = text.as_ref();
        let Reading { warnings, outcome } = reading(text);
        let mut lines: Vec<String> = warnings.iter().map(|warning| warning.diagnostic().to_string()).collect();
        match outcome {
            Ok(manifest) => {
                lines.extend(manifest.unserved().iter().map(|error| format!("to run: {}", error.diagnostic())))
            }
            Err(error) => lines.push(error.diagnostic().to_string()),
        }
        for line in text.trim_end().lines() {
            out.push_str(&format!("| {line}\n"));
        }
        out.push_str(&lines.join("\n"));
        out.push_str("\n\n");
    }
    out
}

#[test]
fn a_full_manifest_is_read_without_a_warning() {
    let text = r#"
name: audit-pipeline
version: 1.2.0
artifacts:
  - name: check
    source: ../check.wasm
  - {name: convert, version: "2", runtime: tool, source: tools/convert, local_source: true}
capabilities:
  filesystem:
    scope: ./data//in/
  limits:
    memory_bytes: 67108864
    table_elements: 10
    instances: 0x10
    deadline_seconds: 5
  containment: advisory
"#;
    let (manifest, unknown) = read(text).unwrap();
    assert_eq!(unknown, []);
    insta::assert_debug_snapshot!(manifest);
}

#[test]
fn what_is_left_out_has_the_documented_defaults() {
    let (manifest, unknown) = read(&with("artifacts:\ncapabilities:\n  limits:\n  filesystem:\n")).unwrap();
    assert_eq!((manifest.artifacts.len(), unknown), (0, vec![]));
    assert_eq!(manifest.capabilities, Capabilities::default());
    let Capabilities { scope, limits, containment, .. } = manifest.capabilities;
    assert_eq!((scope, containment), (crate::manifest::Scope::Workdir, Containment::Advisory));
    assert_eq!(limits.memory_bytes.get(), 536_870_912);
    assert_eq!(limits.table_elements.get(), 100_000);
    assert_eq!(limits.instances.get(), 1_000);
    assert_eq!((limits.deadline_seconds.get(), limits.hook_deadline_seconds.get()), (600, 30));
}

#[test]
fn a_packed_artifacts_own_keys_are_accepted_silently() {
    let text = with(
        "runtime: capsule\nimplementation: wasm\nexecution: wasm\nrequires_files: [capsule.wasm]\n\
             description: runs\ntags: [a]\ninput_schema: {type: object}\n",
    );
    assert_eq!(read(&text).unwrap().1, []);
}

#[test]
fn a_missing_required_field_is_named() {
    let texts = [
        "",
        "# nothing\n",
        "version: 1.0.0\n",
        "name: demo\n",
        "name:\nversion: 1.0.0\n",
        &with("artifacts:\n  - source: x.wasm\n"),
        &with("artifacts:\n  - name: one\n"),
    ];
    insta::assert_snapshot!(shown(texts));
}

#[test]
fn a_wrong_value_is_refused_with_its_place_and_what_to_write() {
    let texts = [
        "- name: demo\n",
        "demo\n",
        "name: [demo]\nversion: 0.1.0\n",
        "name: Demo\nversion: 0.1.0\n",
        "name: scope/demo\nversion: 0.1.0\n",
        "name: ''\nversion: 0.1.0\n",
        "name: 7\nversion: 0.1.0\n",
        "name: demo-\nversion: 0.1.0\n",
        "name: demo\nversion: 1.0\n",
        "name: demo\nversion: ' '\n",
        "name: demo\nversion: {major: 1}\n",
        "name: \"\\e[2Jdemo\"\nversion: 0.1.0\n",
        "name: demo\nversion: true\n",
        &with("artifacts: {}\n"),
        &with("artifacts: [check]\n"),
        &with("artifacts:\n  - {name: a_b, source: x.wasm}\n"),
        &with(
            "artifacts:\n  - {name: a, source: x.wasm}\n  - {name: b, source: x.wasm}\n  - {name: a, version: '2'}\n",
        ),
        &with("artifacts:\n  - {name: a, source: ''}\n"),
        &with("artifacts:\n  - {name: a, source: }\n"),
        &with("artifacts:\n  - {name: a, source: x.wasm, version: }\n"),
        &with("artifacts:\n  - {name: a, source: \"a\\0b\"}\n"),
        &with("artifacts:\n  - {name: a, source: x.wasm, runtime: wasm}\n"),
        &with("artifacts:\n  - {name: a, source: x.wasm, runtime: plugin}\n"),
        &with("artifacts:\n  - {name: a, source: x.wasm, local_source: false}\n"),
        &with("artifacts:\n  - {name: a, version: '1', local_source: true}\n"),
        &with("artifacts:\n  - {name: a, source: x.wasm, local_source: yes}\n"),
        &with("capabilities: all\n"),
        &with("capabilities:\n  filesystem: data\n"),
        &with("capabilities:\n  containment:\n"),
        &with("capabilities:\n  limits: {memory_bytes: }\n"),
        &with("capabilities:\n  limits: {memory_bytes: 0}\n"),
        &with("capabilities:\n  limits: {memory_bytes: 512Mi}\n"),
        &with("capabilities:\n  limits: {memory_bytes: 99999999999999999999}\n"),
        &with("capabilities:\n  limits: {table_elements: -1}\n"),
        &with("capabilities:\n  limits: {instances: 1.5}\n"),
        &with("capabilities:\n  limits: {deadline_seconds: 4294967296}\n"),
        &with("capabilities:\n  containment: strict\n"),
        &with(&format!("capabilities:\n  containment: {}\n", "strict".repeat(100))),
    ];
    insta::assert_snapshot!(shown(texts));
}

#[test]
fn what_this_version_cannot_honour_parses_and_a_session_refuses_it_never_ignores_it() {
    let blocks = [
        "inference: {model: m, driver: {artifact: d}}\nartifacts:\n  - {name: d, version: '1', runtime: driver, gateway: {endpoint: \"https://p.example\", keyless: true}}\n",
        "context: {max_tokens: 1}\n",
        "observability: {otel_endpoint: x}\n",
        "trace: {capture: none}\n",
        "network: {internal_port: 1}\n",
        "lifecycle: {after_task: sleep}\n",
        "exports: {files: {root: out, mode: read-only}}\n",
        "artifacts: [{name: a, source: x.wasm, runtime: hook}]\n",
        "artifacts: [{name: a, source: x, runtime: skill}]\n",
        "capabilities: {network: {allow: [a.example], unix_sockets: true}}\n",
        "capabilities: {peer_fetch: {allow: [a.example]}}\n",
        "capabilities: {filesystem: {read_only: [a], workdir_exec: true}}\n",
        "capabilities: {shell: {allow: [git]}}\n",
        "capabilities: {spawn: {allow: [other]}}\n",
        "capabilities: {resources: {cpu_seconds: 1}}\n",
        "capabilities: {plan: {submit: true}}\n",
        "capabilities: {containment: scoped}\n",
        "capabilities: {containment: sealed}\n",
    ];
    for block in blocks {
        assert!(!read(&with(block)).unwrap().0.unserved().is_empty(), "{block}");
    }
    insta::assert_snapshot!(shown(blocks.map(with)));
}

#[test]
fn what_a_session_honours_can_run() {
    let text = with(
        "artifacts:\n  - {name: a, source: x.wasm, config: {b: 1}, capabilities: {network: {allow: []}, state: {}}}\n  - {name: b, version: \
         '1', gateway: {endpoint: 'https://p.example', keyless: true}}\ncapabilities:\n  network: {allow: [a.example]}\n  filesystem: \
         {scope: data, read_only: [data/a]}\n  env: {allow: [LANG]}\n  limits: {instances: 5}\n",
    );
    let (manifest, warnings) = read(&text).unwrap();
    assert_eq!((manifest.unserved().len(), warnings), (0, vec![]));
}

#[test]
fn what_asks_for_nothing_can_run() {
    let text = with(
        "artifacts:\n  - {name: a, source: x.wasm, prompt_payload: true, capabilities: {}}\ncapabilities:\n  network: {allow: [], \
         unix_sockets: false}\n  filesystem: {read_only: [], workdir_exec: false}\n  env: {allow: []}\n  spawn: {allow: []}\n  plan: \
         {submit: false}\n  containment: advisory\nregistry: {default: local}\nmur_version: '1'\n",
    );
    let (manifest, warnings) = read(&text).unwrap();
    assert_eq!((manifest.unserved().len(), warnings), (0, vec![]));
}

#[test]
fn a_scope_that_could_lead_out_of_the_workdir_is_refused() {
    let scopes = ["", "/etc", "..", "a/../b", "a/..", "../workdir", "\"a\\0\"", "~", "[a]"];
    let texts = scopes.map(|scope| {
        let scope = if scope.is_empty() { "''" } else { scope };
        with(&format!("capabilities:\n  filesystem:\n    scope: {scope}\n"))
    });
    insta::assert_snapshot!(shown(texts));
}

#[test]
fn the_runtimes_own_tool_names_cannot_be_claimed() {
    for name in super::super::schema::RESERVED_TOOLS {
        let text = with(&format!("artifacts:\n  - {{name: {name}, source: x.wasm}}\n"));
        assert_eq!(read(&text).unwrap_err().diagnostic().code().as_str(), "E-CAP-013");
    }
    let texts = [with("artifacts:\n  - {name: submit-plan, source: x.wasm}\n")];
    insta::assert_snapshot!(shown(texts));
}

#[test]
fn an_artifact_cannot_have_the_capsules_own_name() {
    let error = read("name: a\nversion: 1.0.0\nartifacts:\n  - {name: a, source: x.wasm}\n").unwrap_err();
    insta::assert_snapshot!(error.diagnostic(), @r"
        error[E-MAN-003]: murmur.yaml:4:12: `artifacts[0].name` is the capsule's own name, `a`
          hint: give one of them another name
        ");
}

#[test]
fn an_unknown_key_is_warned_about_and_changes_nothing() {
    let text = with(
        "artifcts: []\nAuthor: me\n1: one\n\"\\e[31m\": red\ncapabilities:\n  filesytem: {scope: a}\n  \
             filesystem: {scop: b}\n  limits:\n    memory: 1\n    instance: 2\nartifacts:\n  - name: a\n    source: x.wasm\n    \
             sorce: y.wasm\n",
    );
    let (manifest, _) = read(&text).unwrap();
    assert_eq!(manifest.capabilities, Capabilities::default());
    let texts = [text];
    insta::assert_snapshot!(shown(texts));
}

#[test]
fn no_damage_to_a_manifest_is_more_than_a_refusal() {
    let text =
        with("artifacts:\n  - {name: a, source: &s x.wasm, version: *s}\ncapabilities: {limits: {instances: 1}}\n");
    for position in (0..=text.len()).filter(|&position| text.is_char_boundary(position)) {
        let (before, after) = text.split_at(position);
        // Cut here, and each kind of character that means something to YAML inserted here.
        let inserted = "\n\t :-?,[]{}#&*!|>'\"%@`~\0\u{feff}é".chars();
        for damaged in inserted.map(|c| format!("{before}{c}{after}")).chain([before.to_owned(), after.to_owned()]) {
            if let Err(error) = read(&damaged) {
                assert!(error.diagnostic().to_string().starts_with("error[E-"), "{damaged:?}");
            }
        }
    }
}

#[test]
fn what_is_no_yaml_is_refused_with_its_place() {
    let texts = [
        with("artifacts: [a\n"),
        with("\tcapabilities: {}\n"),
        with("name: again\n"),
        with("capabilities:\n  limits: {instances: 1, instances: 2}\n"),
        with("---\nname: second\n"),
        with("a: *nowhere\n"),
    ];
    insta::assert_snapshot!(shown(texts));
}

/// An agent with everything that a manifest can say.
const AGENT: &str = r#"
name: reviewer
version: 1.2.0
mur_version: "0.4"
registry: {default: remote, remote_url: "http://localhost:7800"}
artifacts:
  - name: check
    source: ../check.wasm
    config: {b: [1, 2.5], a: yes}
    capabilities: {network: {allow: [a.example]}, filesystem: {scope: src/lib}, state: {store: notes}}
  - name: provider
    version: 1.0.0
    runtime: driver
    gateway: {endpoint: "https://api.example.com/v1", api_key: "${PROVIDER_API_KEY}"}
  - name: watch
    version: 1.0.0
    runtime: hook
    on_overflow: block
    capabilities: {task_io: {read: true}, conversation: {read: false}, state: }
  - {name: guide, version: 1.0.0, runtime: skill}
capabilities:
  network: {allow: [a.example, "https://b.example:8443"], unix_sockets: true}
  peer_fetch: {allow: ["peer.example:7000"]}
  filesystem: {scope: src, read_only: [src/vendor, ./docs/], workdir_exec: false}
  shell:
    allow: [git, python3]
    strip_env: ["CI_*"]
    baseline_env: [PATH]
    staged_runtime: [{binary: python3, source_path: /usr/bin/python3, pin: "3.12"}]
  spawn: {allow: [helper]}
  env: {allow: [LANG, LANG]}
  limits: {deadline_seconds: 5}
  resources: {cpu_seconds: 60, workdir_max_bytes: 1048576}
  containment: sealed
  plan: {submit: true}
inference:
  transport: http
  model: some-model
  driver: {artifact: provider, config: {temperature: 0.5}}
  max_turns: 20
  max_tokens: 4096
  max_session_tokens: 100000
  system_prompt_artifact: guide
  compaction: {threshold: 1, model: small-model, system_prompt: "  short  ", dump_summaries: true}
context:
  max_tokens: 100000
  seed_budget: 0
  seed_overflow_margin: 0.25
  record: off
  record_store: shared
  retain: {max_messages: 100, max_age: 30d}
observability:
  otel_endpoint: ""
  eval:
    dataset_id: cases
    scorers: [{type: exit_ok}, {type: max_turns, max: 5}, {type: max_tokens}, {type: tool_sequence, name: order, expected: [check]}, {type: llm_judge}]
trace: {capture: content, retain: {max_sessions: 10}}
network: {internal_port: 7700}
lifecycle:
  task_acceptance: queue
  after_task: sleep
  queue_depth: 4
  input_timeout_secs: 60
  conversation: threaded
  max_task_reopens: 0
  shell_grace_secs: 0
  delegation_deadline_secs: 30
exports:
  files: {root: out, mode: read-only, max_bytes: 1048576}
  peer_files: {root: ., max_ttl: 10m, max_bytes: 2Gi}
"#;

#[test]
fn an_agents_manifest_is_read_in_full_without_a_warning() {
    let (manifest, warnings) = read(AGENT).unwrap();
    assert_eq!(warnings, []);
    let refused: Vec<String> = manifest.unserved().iter().map(|error| error.diagnostic().to_string()).collect();
    insta::assert_debug_snapshot!(manifest);
    insta::assert_snapshot!(refused.join("\n"));
}

#[test]
fn a_manifest_reads_as_itself_each_time() {
    for text in [AGENT.to_owned(), with("artifacts: [{name: a, source: x.wasm, config: {z: 1, a: 2}}]\n")] {
        assert_eq!(read(&text).unwrap(), read(&text).unwrap());
    }
}

/// A driver and an agent that uses it, with more in `inference`.
fn agent(more: &str) -> String {
    with(&format!(
        "artifacts:\n  - {{name: d, version: '1', runtime: driver, gateway: {{endpoint: 'https://p.example', keyless: true}}}}\n\
         inference:\n  model: m\n  driver: {{artifact: d}}\n{more}"
    ))
}

#[test]
fn an_agents_wrong_values_are_refused_with_their_place_and_what_to_write() {
    let texts = [
        with("inference: {}\n"),
        with("inference: {model: m}\n"),
        with("inference: {model: ' '}\n"),
        with("inference: {model: m, driver: {}}\n"),
        with("inference: {model: m, driver: {artifact: d}}\n"),
        with("artifacts: [{name: t, source: x.wasm}]\ninference: {model: m, driver: {artifact: t}}\n"),
        with("artifacts: [{name: d, version: '1', runtime: driver}]\ninference: {model: m, driver: {artifact: d}}\n"),
        with("inference: {transport: carrier-pigeon}\n"),
        with("inference: {transport: process}\n"),
        with(
            "artifacts: [{name: d, version: '1', runtime: driver, gateway: {endpoint: 'https://p.example', keyless: true}}]\ninference: {transport: process, driver: {artifact: d}}\n",
        ),
        agent("  command: claude\n"),
        agent("  provider: {artifact: d}\n"),
        agent("  endpoint: https://p.example\n"),
        agent("  api_key: sk-secret\n"),
        agent("  max_task_reopens: 1\n"),
        agent("  max_turns: 0\n"),
        agent("  system_prompt: a\n  system_prompt_file: b\n"),
        agent("  system_prompt_file: ''\n"),
        agent("  system_prompt_artifact: d\n"),
        agent("  compaction: {threshold: 0}\n"),
        agent("  compaction: {threshold: 1.01}\n"),
        agent("  compaction: {threshold: .nan}\n"),
        agent("  compaction: {system_prompt: a, system_prompt_file: b}\n"),
        with("context: {seed_budget: -1}\n"),
        with("context: {record: false}\n"),
        with("context: {record_store: ../x}\n"),
        with("context: {retain: }\n"),
        with("context: {retain: {max_age: 30}}\n"),
        with("context: {retain: {max_messages: 0}}\n"),
        with("trace: {capture: all}\n"),
        with("trace: {capture: ~}\n"),
        with("trace: {capture: meta, include_tool_output: true}\n"),
        with("trace: {retain: {}}\n"),
        with("observability: {eval: {scorers: [{name: x}]}}\n"),
        with("network: {internal_port: 65536}\n"),
        with("lifecycle: {after_task: rest}\n"),
        with("lifecycle: {max_task_reopens: -1}\n"),
        with("lifecycle: {queue_depth: 0}\n"),
        with("exports: {files: {root: out}}\n"),
        with("exports: {files: {root: out, mode: read-write}}\n"),
        with("exports: {files: {mode: read-only}}\n"),
        with("exports: {files: {root: ../out, mode: read-only}}\n"),
        with("exports: {files: {root: out, mode: read-only, max_bytes: 10MB}}\n"),
        with("exports: {peer_files: {root: out, max_ttl: 0m}}\n"),
        with("lifecycle: {after_task: sleep}\nexports: {peer_files: {root: out}}\n"),
        with("lifecycle: {after_task: sleep}\nexports: {peer_files: {root: out, max_ttl: 1h}}\n"),
        with("registry: {default: nearby}\n"),
        with("config: {a: b}\n"),
    ];
    insta::assert_snapshot!(shown(texts));
}

#[test]
fn capabilities_with_wrong_values_are_refused_with_their_place_and_what_to_write() {
    let blocks = [
        "network: {allow: a.example}",
        "network: {allow: ['https://a.example/v1']}",
        "network: {allow: ['*.example']}",
        "network: {allow: ['https://user:hunter2@a.example']}",
        "network: {allow: ['::1']}",
        "network: {allow: [80]}",
        "network: {unix_sockets: 1}",
        "peer_fetch: {}",
        "peer_fetch: {allow: []}",
        "filesystem: {read_only: src}",
        "filesystem: {read_only: [.]}",
        "filesystem: {read_only: [../src]}",
        "filesystem: {read_only: [/src]}",
        "filesystem: {read_only: ['']}",
        "shell: {allow: []}",
        "shell: {allow: [/bin/sh]}",
        "shell: {allow: [git], strip_env: ['A?']}",
        "shell: {allow: [git], interpreter_runtime: [{binary: python3, dirs: [{path: /usr/lib, list_dir: true}]}]}",
        "shell: {allow: [git], interpreter_runtime: [{binary: git, dirs: []}]}",
        "shell: {allow: [git], interpreter_runtime: [{binary: git, dirs: [{path: /usr/lib}]}]}",
        "shell: {allow: [git], interpreter_runtime: [{binary: git, dirs: [{path: usr/../lib, list_dir: true}]}]}",
        "shell: {allow: [git], staged_runtime: [{binary: git, source_path: /usr/bin/git, pin: '1'}]}",
        "shell: {allow: [git], staged_runtime: [{binary: git, source_path: /usr/bin/git, pin: ''}]}",
        "shell: {allow: [git], interpreter_runtime: [{binary: git, dirs: [{path: /u, list_dir: true}]}], staged_runtime: [{binary: git, source_path: /g, pin: '1'}]}",
        "spawn: {}",
        "spawn: {allow: [Other]}",
        "env: {allow: ['A-B']}",
        "env: {allow: [LANG, GITHUB_TOKEN, CI_JOB, LD_PRELOAD, GITHUB_TOKEN]}\n  shell: {allow: [git], strip_env: ['CI_*']}",
        "resources: {cpu_seconds: 0}",
        "plan: {}",
        "plan: {submit: yes}",
        "task_io: {read: true}",
    ];
    insta::assert_snapshot!(shown(blocks.map(|block| with(&format!("capabilities:\n  {block}\n")))));
}

#[test]
fn an_artifacts_wrong_values_are_refused_with_their_place_and_what_to_write() {
    let large = format!("config: {{a: {}}}", "x".repeat(65_529));
    let blocks = [
        "config: [a]",
        "config: {a: .inf}",
        &large,
        "runtime: skill, config: {}",
        "runtime: skill, capabilities: {}",
        "runtime: skill, gateway: {endpoint: 'https://p.example', keyless: true}",
        "runtime: driver, gateway: {endpoint: 'https://p.example', keyless: true}",
        "gateway: {keyless: true}",
        "gateway: {endpoint: 'https://p.example'}",
        "gateway: {endpoint: 'https://p.example', keyless: false}",
        "gateway: {endpoint: 'https://p.example', keyless: true, api_key: '${KEY}'}",
        "gateway: {endpoint: 'http://p.example', keyless: true}",
        "gateway: {endpoint: 'https://u:hunter2@p.example', keyless: true}",
        "gateway: {endpoint: 'https://${HOST}', keyless: true}",
        "gateway: {endpoint: 'https://p.example?x', keyless: true}",
        "gateway: {endpoint: 'https://p.example', api_key: '${lower}'}",
        "gateway: {endpoint: 'https://p.example', api_key: 'a${KEY}'}",
        "gateway: {endpoint: 'https://p.example', api_key: \"hunter\\n2\"}",
        "gateway: {endpoint: 'https://p.example', api_key: 12345}",
        "on_overflow: drop",
        "runtime: hook, on_overflow: wait",
        "prompt_payload: maybe",
        "capabilities: {state: {store: a/b}}",
        "capabilities: {state: {store: .hidden}}",
        "capabilities: {state: {store: ''}}",
        "capabilities: {filesystem: {scope: [a]}}",
        "capabilities: {filesystem: {scope: ../a}}",
        "capabilities: {network: {allow: ['a b']}}",
        "capabilities: {task_io: {read: true}}",
        "capabilities: {conversation: {read: true}}",
        "runtime: hook, capabilities: {task_io: {}}",
        "runtime: hook, capabilities: {task_io: }",
        "runtime: hook, capabilities: {conversation: {}}",
    ];
    let texts = blocks.map(|block| with(&format!("artifacts:\n  - {{name: a, version: '1', {block}}}\n")));
    let said = shown(texts).replace(&"x".repeat(65_529), "x…x");
    // What was written before an `@`, or as a key, is in the texts themselves and in nothing that is said of them.
    assert!(
        said.lines().all(|line| line.starts_with('|') || !(line.contains("hunter") || line.contains("12345"))),
        "{said}"
    );
    insta::assert_snapshot!(said);
}

#[test]
fn what_a_manifest_says_without_effect_or_at_a_risk_is_told() {
    let texts = [
        with(
            "artifacts:\n  - {name: h, version: '1', runtime: hook, capabilities: {shell: {allow: [git]}, limits: {}, network: {unix_sockets: true}, filesystem: {read_only: [a]}}}\n",
        ),
        with(
            "artifacts:\n  - {name: t, version: '1', capabilities: {env: {allow: [A]}, containment: sealed, plan: {submit: true}, filesystem: {workdir_exec: true}}}\n",
        ),
        with("artifacts:\n  - {name: t, version: '1', gateway: {endpoint: 'https://p.example', api_key: 'hunter2'}}\n"),
        with(
            "artifacts:\n  - {name: t, version: '1', gateway: {endpoint: 'https://p.example', keyless: true}}\ncapabilities:\n  network:\n    allow: [q.example, 'p.example:8443']\n",
        ),
        with("capabilities:\n  state: {store: a}\n  conversation: {read: true}\n"),
        with("capabilities:\n  env: {allow: [DB_PASSWORD, LANG, PG_DSN]}\n"),
        with("lifecycle: {after_task: sleep}\ncapabilities:\n  env: {allow: [DB_PASSWORD]}\n"),
        with(
            "capabilities:\n  shell: {allow: [python3], interpreter_runtime: [{binary: python3, dirs: [{path: /usr/lib, list_dir: false}]}]}\n",
        ),
        with("trace: {include_tool_output: true}\n"),
        with("observability: {eval: {scorers: [{type: vibes}]}}\n"),
        with(
            "binding: on-stage\nmodels: {}\ncontrol: {settings: []}\ncapabilities: {install: {}, filesystem: {records: true}}\n",
        ),
    ];
    insta::assert_snapshot!(shown(texts));
}

#[test]
fn a_misspelt_key_is_told_before_the_refusal_that_it_causes() {
    let texts = [
        with("capabilities:\n  shell:\n    alow: [git]\n"),
        "nmae: demo\nversion: 0.1.0\n".to_owned(),
        with("artifacts:\n  - name: a\n    verison: '1'\n"),
        agent("  compaction:\n    treshold: 2\n    threshold: 2\n"),
    ];
    insta::assert_snapshot!(shown(texts));
}

#[test]
fn words_and_numbers_that_yaml_could_take_for_others_are_what_they_look_like_or_refused() {
    let names = ["no", "on", "null-object", "1e3", "0x1f", "017", "1_000", "~", "true", "2026-01-01", "12:30"];
    insta::assert_snapshot!(shown(names.map(|name| format!("name: {name}\nversion: 0.1.0\n"))));
    let numbers = ["017", "0o17", "0x10", "0b1", "1_000", "1e3", "+5", "5.0", "'5'", "12:30"];
    insta::assert_snapshot!(shown(
        numbers.map(|number| with(&format!("capabilities: {{limits: {{instances: {number}}}}}\n")))
    ));
}

#[test]
fn what_an_alias_stands_for_is_read_in_its_place() {
    let text = with(
        "artifacts:\n  - &a {name: one, source: x.wasm, capabilities: &c {network: {alow: []}}}\n  - {<<: *a, name: two}\n  - {name: three, \
         source: x.wasm, capabilities: *c}\n",
    );
    insta::assert_snapshot!(shown([text]));
}
