//! From a component's bytes to one that can be run.
//!
//! Everything that can be known before a guest runs is checked here, so that an unfit component is refused
//! by name and not by a trap in the middle of its work.

use super::code::Code;
use super::compiled::CompiledCache;
use super::error::GuestError;
use super::served;
use super::store::State;
use std::path::Path;
use wasmtime::Engine;
use wasmtime::component::{Component, InstancePre, Linker};

/// What a kind of guest may import from `murmur:` packages, and what it has to export.
pub(crate) struct Contract {
    imports: &'static [&'static str],
    export: &'static str,
}

/// Exactly one version of each package is served; another one is refused even where its number claims to be
/// compatible.
pub(crate) const CAPSULE: Contract = Contract { imports: served::FOR_CAPSULES, export: "murmur:capsule/run@0.1.0" };

/// What a tool, and a driver, has to be.
pub(crate) const TOOL: Contract = Contract { imports: served::FOR_TOOLS, export: "murmur:tool/run@0.1.0" };

/// The WASI packages that are served, in any 0.2 version: those are compatible with each other.
const WASI: [&str; 6] = ["wasi:cli", "wasi:clocks", "wasi:filesystem", "wasi:io", "wasi:random", "wasi:sockets"];

/// What is served of `wasi:http`: requests, and nothing to answer them with.
const HTTP: [&str; 2] = ["wasi:http/types", "wasi:http/outgoing-handler"];

/// The compiled form of a component: the one that is kept, or a new one, which is kept then.
///
/// # Errors
/// [`GuestError::Invalid`].
pub(crate) fn compile(engine: &Engine, cache: Option<&CompiledCache>, code: &Code) -> Result<Component, GuestError> {
    if let Some(component) = cache.and_then(|cache| cache.load(engine, code)) {
        return Ok(component);
    }
    let component = Component::from_binary(engine, code.bytes())
        .map_err(|error| GuestError::Invalid { path: code.origin().to_owned(), reason: format!("{error:#}") })?;
    if let Some(cache) = cache {
        cache.keep(code, &component);
    }
    Ok(component)
}

/// Checks a component against its contract and links it.
///
/// # Errors
/// [`GuestError::ImportNotServed`], [`GuestError::ExportMissing`], [`GuestError::Mismatch`].
pub(crate) fn prepare(
    linker: &Linker<State>,
    component: &Component,
    contract: &Contract,
    path: &Path,
) -> Result<InstancePre<State>, GuestError> {
    let kind = component.component_type();
    let exports_it = kind.exports(component.engine()).any(|(export, _)| export == contract.export);
    let export_missing = || GuestError::ExportMissing { path: path.to_owned(), export: contract.export };
    let mut with_http = None;
    for (import, _) in kind.imports(component.engine()) {
        if import.starts_with("wasi:http/") {
            with_http.get_or_insert_with(|| linker.clone());
        }
        if !served(import, contract) {
            let other_version = other_version(import, contract);
            // A guest of another kind, in all likelihood: that explains the import too.
            if !exports_it && other_version.is_none() {
                return Err(export_missing());
            }
            let (path, import) = (path.to_owned(), import.to_owned());
            return Err(GuestError::ImportNotServed { path, import, served: other_version });
        }
    }
    if !exports_it {
        return Err(export_missing());
    }
    if let Some(linker) = &mut with_http {
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker).map_err(|error| mismatch(path, &error))?;
    }
    with_http.as_ref().unwrap_or(linker).instantiate_pre(component).map_err(|error| mismatch(path, &error))
}

/// The error of a component whose interfaces have the right names and other contents.
pub(crate) fn mismatch(path: &Path, error: &wasmtime::Error) -> GuestError {
    GuestError::Mismatch { path: path.to_owned(), reason: format!("{error:#}") }
}

fn served(import: &str, contract: &Contract) -> bool {
    let (interface, version) = split_version(import);
    let (package, _) = interface.split_once('/').unwrap_or((interface, ""));
    if WASI.contains(&package) || HTTP.contains(&interface) {
        version.starts_with("0.2.")
    } else {
        contract.imports.contains(&import)
    }
}

/// The version of an interface that is served instead of the one asked for.
fn other_version(import: &str, contract: &Contract) -> Option<&'static str> {
    let (wanted, _) = split_version(import);
    contract.imports.iter().copied().find(|served| split_version(served).0 == wanted)
}

/// `name@version` in two.
fn split_version(name: &str) -> (&str, &str) {
    name.split_once('@').unwrap_or((name, ""))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_version_of_a_murmur_package_is_served() {
        assert!(served("murmur:tool-registry/invoke@0.1.0", &CAPSULE));
        assert!(!served("murmur:tool-registry/invoke@0.1.1", &CAPSULE));
        assert!(!served("murmur:tool-registry/invoke@0.2.0", &CAPSULE));
        assert!(!served("murmur:tool-registry/invoke", &CAPSULE));
        assert_eq!(
            other_version("murmur:tool-registry/invoke@0.2.0", &CAPSULE),
            Some("murmur:tool-registry/invoke@0.1.0")
        );
        assert_eq!(other_version("murmur:driver/process@0.2.0", &CAPSULE), None);
    }

    #[test]
    fn a_tool_is_served_no_tools() {
        assert!(!served("murmur:tool-registry/invoke@0.1.0", &TOOL));
    }

    #[test]
    fn every_kind_is_served_what_its_world_says() {
        for interface in ["murmur:artifact-manager/manage", "murmur:shell/execute", "murmur:message/send"] {
            assert!(served(&format!("{interface}@0.1.0"), &CAPSULE), "{interface}");
            assert!(!served(&format!("{interface}@0.1.0"), &TOOL), "{interface}");
        }
        for interface in ["murmur:task/task", "murmur:text/chunks", "murmur:stream/events"] {
            assert!(served(&format!("{interface}@0.1.0"), &TOOL), "{interface}");
            assert!(!served(&format!("{interface}@0.2.0"), &TOOL), "{interface}");
            assert!(!served(&format!("{interface}@0.1.0"), &CAPSULE), "{interface}");
        }
    }

    #[test]
    fn wasi_is_served_in_every_0_2_version_and_http_only_for_requests() {
        assert!(served("wasi:io/streams@0.2.0", &TOOL));
        assert!(served("wasi:filesystem/types@0.2.12", &TOOL));
        assert!(!served("wasi:io/streams@0.3.0", &TOOL));
        assert!(served("wasi:http/types@0.2.3", &TOOL));
        assert!(served("wasi:http/outgoing-handler@0.2.0", &TOOL));
        assert!(!served("wasi:http/outgoing-handler@0.3.0", &TOOL));
        assert!(!served("wasi:http/incoming-handler@0.2.0", &TOOL));
    }
}
