//! The worlds of `wit/`, as Wasmtime writes them in Rust for the host.

pub use tool::exports::murmur::tool::run::{Status, ToolInput, ToolResult};

/// `murmur:tool/tool`: the host calls `murmur:tool/run`.
pub(crate) mod tool {
    #![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated code")]

    wasmtime::component::bindgen!({
        path: "../wit/tool",
        world: "murmur:tool/tool",
        exports: { default: async },
    });
}

/// `murmur:capsule/capsule`: the host calls `murmur:capsule/run`. What it serves in return, `murmur:tool-registry`,
/// is linked by hand, in the types of [`tool`]: they would be generated a second time here.
pub(crate) mod capsule {
    #![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated code")]

    wasmtime::component::bindgen!({
        path: ["../wit/tool", "../wit/tool-registry", "../wit/capsule"],
        inline: "
            package murmur:host;

            world capsule {
                export murmur:capsule/run@0.1.0;
            }
        ",
        exports: { default: async },
    });
}
