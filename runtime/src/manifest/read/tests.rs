//! What is read of a manifest, and what is refused with which words.

use std::path::Path;

use super::super::schema::Mapping;
use super::*;

/// The smallest manifest, with more below it.
fn with(rest: &str) -> String {
    format!("name: demo\nversion: 0.1.0\n{rest}")
}

fn read(text: &str) -> Result<(Manifest, Vec<UnknownKey>), ManifestError> {
    manifest(Path::new("murmur.yaml"), text)
}

/// What a person sees for each text: the text, then every warning, then the refusal.
fn shown<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let mut out = String::new();
    for text in texts {
        let text = text.as_ref();
        let lines = match read(text) {
            Ok((_, unknown)) => unknown.iter().map(|key| key.diagnostic().to_string()).collect(),
            Err(error) => vec![error.diagnostic().to_string()],
        };
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
    let Capabilities { scope, limits, containment } = manifest.capabilities;
    assert_eq!((scope, containment), (crate::manifest::Scope::Workdir, Containment::Advisory));
    assert_eq!(limits.memory_bytes.get(), 536_870_912);
    assert_eq!(limits.table_elements.get(), 100_000);
    assert_eq!(limits.instances.get(), 1_000);
    assert_eq!(limits.deadline_seconds.get(), 600);
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
fn what_this_version_cannot_honour_is_refused_never_ignored() {
    let keys = |mapping: &Mapping| mapping.unsupported().collect::<Vec<_>>();
    let mut texts = Vec::new();
    texts.extend(keys(&schema::ROOT).iter().map(|key| with(&format!("{key}: x\n"))));
    texts.extend(keys(&schema::CAPABILITIES).iter().map(|key| with(&format!("capabilities: {{{key}: x}}\n"))));
    texts.extend(
        keys(&schema::FILESYSTEM).iter().map(|key| with(&format!("capabilities: {{filesystem: {{{key}: x}}}}\n"))),
    );
    texts.extend(
        keys(&schema::ARTIFACT)
            .iter()
            .map(|key| with(&format!("artifacts: [{{name: a, source: x.wasm, {key}: x}}]\n"))),
    );
    for role in ["driver", "hook", "skill"] {
        texts.push(with(&format!("artifacts: [{{name: a, source: x.wasm, runtime: {role}}}]\n")));
    }
    for text in &texts {
        let diagnostic = read(text).unwrap_err().diagnostic();
        assert_eq!(diagnostic.code().as_str(), "E-MAN-003", "{text}");
        assert!(diagnostic.text().ends_with("is not supported by this version of mur"), "{diagnostic}");
        assert!(diagnostic.hint().unwrap().contains("remove"), "{diagnostic}");
    }
    let texts = [
        with("inference:\n  model: m\n"),
        with("capabilities:\n  network:\n    allow: []\n"),
        with("capabilities:\n  filesystem:\n    scope: data\n    read_only: [a]\n"),
        with("artifacts:\n  - name: a\n    source: x.wasm\n    capabilities: {}\n"),
        with("artifacts:\n  - name: a\n    source: x.wasm\n    runtime: hook\n"),
    ];
    insta::assert_snapshot!(shown(texts));
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
fn a_containment_that_cannot_be_met_is_refused_as_such() {
    let texts = ["scoped", "sealed"].map(|class| with(&format!("capabilities:\n  containment: {class}\n")));
    insta::assert_snapshot!(shown(texts));
}

#[test]
fn artifacts_that_would_have_to_be_installed_are_all_named() {
    let refusal = |text: &str| {
        let (manifest, _) = read(&with(text)).unwrap();
        let first = manifest.artifacts.iter().find(|artifact| matches!(artifact.reference, Reference::Installed(_)));
        manifest.not_installed(first.unwrap()).diagnostic().to_string()
    };
    let texts = [
        "artifacts:\n  - {name: a, version: 1.0.0}\n",
        "artifacts:\n  - {name: a, source: x.wasm}\n  - {name: b, version: 1.0.0}\n  - {name: c, version: '2'}\n",
    ];
    insta::assert_snapshot!(texts.map(refusal).join("\n"));
}

#[test]
fn an_error_in_the_manifest_is_told_before_an_artifact_that_is_not_installed() {
    let text = with("artifacts:\n  - {name: a, version: 1.0.0}\ncapabilities:\n  limits: {instances: 0}\n");
    assert_eq!(read(&text).unwrap_err().diagnostic().code().as_str(), "E-MAN-003");
}

#[test]
fn the_runtimes_own_tool_names_cannot_be_claimed() {
    for name in schema::RESERVED_TOOLS {
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
