//! What a component imports and exports, read from its bytes without compiling it.

use serde::{Deserialize, Serialize};
use wasmparser::{Encoding, Parser, Payload};

/// The interfaces at a component's rim, sorted, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contracts {
    /// What it exports.
    pub exports: Vec<String>,
    /// What it imports.
    pub imports: Vec<String>,
}

impl Contracts {
    /// Those of `bytes`; `None` where they are no component, or one that cannot be read.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let mut contracts = Self::default();
        // Components nest: only the outermost has the rim.
        let mut depth = 0_usize;
        let mut is_component = false;
        for payload in Parser::new(0).parse_all(bytes) {
            #[expect(clippy::wildcard_enum_match_arm, reason = "what else a component is made of says nothing here")]
            match payload.ok()? {
                Payload::Version { encoding, .. } if depth == 0 => is_component = encoding == Encoding::Component,
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section {
                        contracts.imports.push(import.ok()?.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(section) if depth == 0 => {
                    for export in section {
                        contracts.exports.push(export.ok()?.name.name.to_owned());
                    }
                }
                _ => {}
            }
        }
        for names in [&mut contracts.exports, &mut contracts.imports] {
            names.sort();
            names.dedup();
        }
        is_component.then_some(contracts)
    }

    /// Whether any of them, in either direction, begins with `prefix`.
    pub fn any_begins_with(&self, prefix: &str) -> bool {
        self.exports.iter().chain(&self.imports).any(|name| name.starts_with(prefix))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_component_has_no_contracts() {
        for bytes in [&b""[..], b"text", b"\0asm\x01\0\0\0", b"\0asm\x0d\0\x01\0\xff"] {
            assert_eq!(Contracts::of(bytes), None, "{bytes:?}");
        }
        assert_eq!(Contracts::of(b"\0asm\x0d\0\x01\0"), Some(Contracts::default()));
    }

    #[test]
    fn the_rim_of_a_component_is_told_and_not_what_is_inside() {
        let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/guests/test_tool.wasm")).unwrap();
        let contracts = Contracts::of(&bytes).unwrap();
        assert_eq!(contracts.exports, ["murmur:tool/run@0.1.0"]);
        assert!(contracts.any_begins_with("murmur:tool/"));
        assert!(contracts.any_begins_with("wasi:cli/"));
        assert!(!contracts.any_begins_with("run"));
        assert!(contracts.imports.is_sorted());
    }
}
