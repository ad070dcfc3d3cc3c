//! A capsule that returns at once: what remains of its run is what a launch costs.
#![allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated code")]

wit_bindgen::generate!({
    path: [
        "../../../wit/task",
        "../../../wit/text",
        "../../../wit/stream",
        "../../../wit/tool",
        "../../../wit/tool-registry",
        "../../../wit/capsule",
    ],
    world: "murmur:capsule/capsule",
    generate_all,
});

export!(Component with_types_in self);

struct Component;

impl exports::murmur::capsule::run::Guest for Component {
    fn run() {}
}
