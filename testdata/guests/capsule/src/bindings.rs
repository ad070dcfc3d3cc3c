//! The world of a capsule, as `wit-bindgen` writes it in Rust.
#![allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated code")]

wit_bindgen::generate!({
    path: [
        "../../../wit/task",
        "../../../wit/text",
        "../../../wit/stream",
        "../../../wit/tool",
        "../../../wit/tool-registry",
        "../../../wit/artifact-manager",
        "../../../wit/shell",
        "../../../wit/message",
        "../../../wit/capsule",
    ],
    inline: "
        package test:capsule;

        world everything {
            include murmur:capsule/capsule@0.1.0;
            import murmur:artifact-manager/manage@0.1.0;
            import murmur:shell/execute@0.1.0;
            import murmur:message/send@0.1.0;
        }
    ",
    world: "test:capsule/everything",
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
