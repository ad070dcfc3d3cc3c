//! The exports of the worlds in `wit/`, as Wasmtime writes them in Rust for the host. What the host serves in return is
//! linked by hand, in [`served`](super::served).

pub use tool::exports::murmur::tool::run::{Status, ToolInput, ToolResult};

/// `murmur:tool/tool`: the host calls `murmur:tool/run`.
pub(crate) mod tool {
    #![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated code")]

    wasmtime::component::bindgen!({
        path: ["../wit/task", "../wit/text", "../wit/stream", "../wit/tool"],
        inline: "
            package murmur:host;

            world tool {
                export murmur:tool/run@0.1.0;
            }
        ",
        exports: { default: async },
    });
}

/// `murmur:capsule/capsule`: the host calls `murmur:capsule/run`.
pub(crate) mod capsule {
    #![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated code")]

    wasmtime::component::bindgen!({
        path: [
            "../wit/task",
            "../wit/text",
            "../wit/stream",
            "../wit/tool",
            "../wit/tool-registry",
            "../wit/capsule",
        ],
        inline: "
            package murmur:host;

            world capsule {
                export murmur:capsule/run@0.1.0;
            }
        ",
        exports: { default: async },
    });
}
