//! The world of a tool, as `wit-bindgen` writes it in Rust.
#![allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated code")]

wit_bindgen::generate!({
    path: ["../../../wit/task", "../../../wit/text", "../../../wit/stream", "../../../wit/tool"],
    world: "murmur:tool/tool",
    generate_all,
});

export!(Component with_types_in self);

/// What the exports are called on.
pub(crate) struct Component;

impl exports::murmur::tool::run::Guest for Component {
    fn run(input: exports::murmur::tool::run::ToolInput) -> exports::murmur::tool::run::ToolResult {
        crate::run(&input)
    }
}
