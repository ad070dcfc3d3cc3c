//! The world of a capsule, as `wit-bindgen` writes it in Rust.
#![allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated code")]

wit_bindgen::generate!({
    path: ["../../../wit/tool", "../../../wit/tool-registry", "../../../wit/capsule"],
    world: "murmur:capsule/capsule",
    generate_all,
});

export!(Component with_types_in self);

/// What the exports are called on.
pub(crate) struct Component;

impl exports::murmur::capsule::run::Guest for Component {
    fn run() {
        crate::run();
    }
}
