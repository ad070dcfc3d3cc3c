//! What holds for every text, whatever it holds.

use std::path::Path;

use proptest::prelude::*;

use super::super::schema::{Inside, Mapping, ROOT};
use super::super::{Manifest, Reading, Surface};
use crate::hosts::HostRule;

fn reading(text: &str) -> Reading {
    Manifest::parse(Path::new("murmur.yaml"), text)
}

/// Values that fit somewhere, and values that fit nowhere.
fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("true".to_owned()),
        Just("{}".to_owned()),
        Just("[]".to_owned()),
        Just("~".to_owned()),
        Just("1.0".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| number.to_string()),
        "[a-z]{1,8}(\\.[a-z]{1,4})?".prop_map(|word| word),
        "(https?://)?[a-z*]{1,6}\\.example(:[0-9]{1,5})?(/v1)?".prop_map(|url| format!("{url:?}")),
        "[ -~]{0,12}".prop_map(|text| format!("{text:?}")),
        prop::sample::select(vec![
            "tool", "driver", "hook", "skill", "sealed", "sleep", "process", "content", "30d", "1Gi"
        ])
        .prop_map(str::to_owned),
        "[a-z.]{1,8}".prop_map(|word| format!("[{word}, {word}]")),
    ]
}

/// A mapping with some of its known keys, in YAML's flow form.
fn mapping(known: &'static Mapping, depth: u32) -> BoxedStrategy<String> {
    let key = prop::sample::select(known.keys.iter().collect::<Vec<_>>());
    let entry = key.prop_flat_map(move |key| {
        let value = match key.inside {
            Inside::One(inner) if depth > 0 => prop_oneof![4 => mapping(inner, depth - 1), 1 => scalar()].boxed(),
            Inside::Each(inner) if depth > 0 => prop::collection::vec(mapping(inner, depth - 1), 0..3)
                .prop_map(|items| format!("[{}]", items.join(", ")))
                .boxed(),
            Inside::Plain | Inside::One(_) | Inside::Each(_) => scalar().boxed(),
        };
        value.prop_map(move |value| (key.name, value))
    });
    prop::collection::vec(entry, 0..4)
        .prop_map(|mut entries| {
            entries.sort();
            entries.dedup_by_key(|(key, _)| *key);
            let entries: Vec<String> = entries.into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
            format!("{{{}}}", entries.join(", "))
        })
        .boxed()
}

/// A manifest of known keys with values that may or may not fit.
fn likely() -> impl Strategy<Value = String> {
    let block = |key: &'static str| mapping(ROOT.inside(key), 3).prop_map(move |text| format!("{key}: {text}\n"));
    let artifact = (mapping(ROOT.inside("artifacts"), 3), 0..3_usize).prop_map(|(more, name)| {
        let more = &more[1..more.len() - 1];
        let separator = if more.is_empty() { "" } else { ", " };
        format!(
            "  - {{name: a{name}, source: a.wasm{separator}{}}}\n",
            more.replace("name: ", "nam: ").replace("source: ", "sourc: ")
        )
    });
    let artifacts =
        prop::collection::vec(artifact, 0..3).prop_map(|artifacts| format!("artifacts:\n{}", artifacts.concat()));
    let blocks = prop_oneof![
        3 => block("capabilities"),
        1 => block("inference"),
        1 => block("context"),
        1 => block("observability"),
        1 => block("trace"),
        1 => block("lifecycle"),
        1 => block("exports"),
    ];
    (artifacts, prop::collection::vec(blocks, 0..3)).prop_map(|(artifacts, mut blocks)| {
        blocks.sort();
        blocks.dedup_by_key(|block| block.split(':').next().map(str::to_owned));
        format!("name: demo\nversion: 0.1.0\n{artifacts}{}", blocks.concat())
    })
}

/// A `capabilities` with some hosts and a part of the workdir, out of so few that they often meet.
fn block() -> impl Strategy<Value = String> {
    let rule = "(http://|https://)?[ab]\\.example(:80|:443)?".prop_map(|rule| format!("'{rule}'"));
    let rules = prop::option::of(prop::collection::hash_set(rule, 0..4));
    let scope = prop::option::of(prop::sample::select(vec![".", "a", "a/b", "a/b/c", "ab"]));
    (rules, scope).prop_map(|(rules, scope)| {
        let rules =
            rules.map(|rules| format!("network: {{allow: [{}]}}", rules.into_iter().collect::<Vec<_>>().join(", ")));
        let scope = scope.map(|scope| format!("filesystem: {{scope: {scope}}}"));
        format!("{{{}}}", rules.into_iter().chain(scope).collect::<Vec<_>>().join(", "))
    })
}

proptest! {
    #[test]
    fn no_text_is_more_than_a_refusal(text in "\\PC{0,200}") {
        let Reading { warnings, outcome } = reading(&text);
        for warning in warnings {
            prop_assert!(warning.diagnostic().to_string().starts_with("warning[W-SEC-0"));
        }
        if let Err(error) = outcome {
            prop_assert!(error.diagnostic().to_string().starts_with("error[E-"));
        }
    }

    #[test]
    fn whatever_parses_parses_to_the_same_again_with_the_same_words(text in likely()) {
        let (first, second) = (reading(&text), reading(&text));
        prop_assert_eq!(&first.warnings, &second.warnings);
        let places: Vec<_> = first.warnings.iter().map(|warning| (warning.place().line, warning.place().column)).collect();
        prop_assert!(places.is_sorted());
        let (Ok(manifest), Ok(again)) = (&first.outcome, &second.outcome) else {
            let shown = |reading: &Reading| reading.outcome.as_ref().map_err(|error| error.diagnostic()).err();
            prop_assert_eq!(shown(&first), shown(&second));
            return Ok(());
        };
        prop_assert_eq!(manifest, again);
    }

    #[test]
    fn a_tools_block_only_narrows_and_a_hooks_grants_what_it_says(
        ceiling in block(), tool in block(), hook in block(),
    ) {
        let text = format!(
            "name: demo\nversion: 0.1.0\ncapabilities: {ceiling}\nartifacts:\n  - {{name: a, source: a.wasm, capabilities: {tool}}}\n  - \
             {{name: h, source: a.wasm, runtime: hook, capabilities: {hook}}}\n"
        );
        let Reading { warnings, outcome } = reading(&text);
        let manifest = outcome.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let (own, grants) = (manifest.own_grants(), manifest.grants_of(&manifest.artifacts[0]));
        for rule in &grants.network {
            for (scheme, port) in rule.endpoints() {
                prop_assert!(own.network.iter().any(|above| above.allows(scheme, &rule.host, port)));
            }
        }
        match (&own.scope, &grants.scope) {
            (_, Surface::Nothing) | (Surface::Workdir, _) => {}
            (Surface::Subtree(above), Surface::Subtree(subpath)) => prop_assert!(above.contains(subpath)),
            (above, seen) => prop_assert!(false, "{:?} is wider than {:?}", seen, above),
        }
        // Told is exactly what was asked for and not granted as it is.
        let declared = &manifest.artifacts[0].capabilities;
        let asked = declared.network.iter().flatten().filter(|rule| !grants.network.contains(&rule.value)).count();
        let scope = declared.scope.iter().filter(|scope| scope.value != grants.scope).count();
        prop_assert_eq!(warnings.len(), asked + scope, "{:?}", warnings);
        let (hook, declared) = (manifest.grants_of(&manifest.artifacts[1]), &manifest.artifacts[1].capabilities);
        prop_assert_eq!(hook.network.len(), declared.network.as_ref().map_or(0, Vec::len));
    }

    #[test]
    fn a_rule_that_is_shown_is_read_as_the_same_rule(text in "((http|https|ftp)://)?[a-zA-Z0-9._@*\\[\\]-]{1,20}(:[0-9]{0,6})?(/)?") {
        if let Ok(rule) = text.parse::<HostRule>() {
            prop_assert_eq!(rule.to_string().parse(), Ok(rule));
        }
    }
}
