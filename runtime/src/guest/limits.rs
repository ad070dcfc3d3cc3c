//! What a guest may use, and counting it.

use std::fmt;
use std::time::Duration;

/// What one guest may use in one run. The defaults are those of `capabilities.limits` in the manifest.
///
/// Each guest counts for itself: a capsule that calls a tool holds its own memory while the tool has its own
/// limits. A capsule's deadline covers the tools that it calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all its linear memories together.
    pub memory_bytes: u64,
    /// Elements of all its tables together.
    pub table_elements: u64,
    /// Core instances. A component's are all made before it runs, so this bounds how many parts it has.
    pub instances: u64,
    /// Wall-clock time from instantiation to the end, whether it computes or waits.
    pub deadline: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory_bytes: 512 << 20, table_elements: 100_000, instances: 1000, deadline: Duration::from_secs(600) }
    }
}

/// One of the [`Limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::memory_bytes`]
    MemoryBytes,
    /// [`Limits::table_elements`]
    TableElements,
    /// [`Limits::instances`]
    Instances,
    /// [`Limits::deadline`]
    Deadline,
}

impl Limit {
    /// The manifest's setting for it.
    pub fn setting(self) -> &'static str {
        match self {
            Self::MemoryBytes => "capabilities.limits.memory_bytes",
            Self::TableElements => "capabilities.limits.table_elements",
            Self::Instances => "capabilities.limits.instances",
            Self::Deadline => "capabilities.limits.deadline_seconds",
        }
    }
}

/// A limit that a guest ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitHit {
    /// Which.
    pub limit: Limit,
    /// How much it allowed: bytes, elements, instances, or milliseconds.
    pub allowed: u64,
}

impl LimitHit {
    /// The deadline passed.
    pub(crate) fn deadline(deadline: Duration) -> Self {
        Self { limit: Limit::Deadline, allowed: u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX) }
    }
}

impl fmt::Display for LimitHit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, allowed } = self;
        match limit {
            Limit::MemoryBytes => write!(f, "the guest needs more than its {allowed} bytes of memory")?,
            Limit::TableElements => write!(f, "the guest needs more than its {allowed} table elements")?,
            Limit::Instances => write!(f, "the guest needs more than its {allowed} instances")?,
            Limit::Deadline => {
                let seconds = Duration::from_millis(*allowed).as_secs_f64();
                write!(f, "the guest did not end within its {seconds} seconds")?;
            }
        }
        write!(f, " ({})", limit.setting())
    }
}

/// Counts what a store holds, and remembers the limit that it ran into: the guest's allocator may turn a
/// refused growth into an abort that no longer tells why.
pub(crate) struct Limiter {
    limits: Limits,
    memory: Account,
    tables: Account,
    hit: Option<LimitHit>,
}

impl Limiter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, memory: Account::default(), tables: Account::default(), hit: None }
    }

    /// The first limit that was hit.
    pub(crate) fn hit(&self) -> Option<LimitHit> {
        self.hit
    }

    /// The instance limit as a hit, for when the engine says that it was reached.
    pub(crate) fn instances_hit(&self) -> LimitHit {
        LimitHit { limit: Limit::Instances, allowed: self.limits.instances }
    }

    /// An error traps the guest, whereas a refusal would leave it to go on.
    fn answer(&mut self, grown: Result<bool, Exceeded>, limit: Limit, allowed: u64) -> wasmtime::Result<bool> {
        grown.map_err(|Exceeded| {
            let hit = LimitHit { limit, allowed };
            self.hit.get_or_insert(hit);
            wasmtime::format_err!("{hit}")
        })
    }
}

impl wasmtime::ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = self.limits.memory_bytes;
        let grown = self.memory.grow(current, desired, maximum, allowed);
        self.answer(grown, Limit::MemoryBytes, allowed)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.memory.undo();
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = self.limits.table_elements;
        let grown = self.tables.grow(current, desired, maximum, allowed);
        self.answer(grown, Limit::TableElements, allowed)
    }

    fn table_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.tables.undo();
        Ok(())
    }

    fn instances(&self) -> usize {
        saturated(self.limits.instances)
    }

    // How many memories and tables there are does not matter, only what they hold together.
    fn memories(&self) -> usize {
        usize::MAX
    }

    fn tables(&self) -> usize {
        usize::MAX
    }
}

fn saturated(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A running total. Memories and tables live as long as their store and never shrink.
#[derive(Debug, Default, PartialEq, Eq)]
struct Account {
    total: u64,
    /// What the last growth added, should it fail.
    last: u64,
}

/// A growth would pass the limit.
#[derive(Debug, PartialEq, Eq)]
struct Exceeded;

impl Account {
    /// Adds a growth. `Ok(false)` where the memory or table itself does not allow it: that is the guest's own
    /// affair.
    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>, allowed: u64) -> Result<bool, Exceeded> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let growth = desired.saturating_sub(current) as u64;
        let total = self.total.saturating_add(growth);
        if total > allowed {
            return Err(Exceeded);
        }
        *self = Self { total, last: growth };
        Ok(true)
    }

    /// Takes the last growth back.
    fn undo(&mut self) {
        self.total = self.total.saturating_sub(self.last);
        self.last = 0;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn growths_of_all_memories_add_up() {
        let mut account = Account::default();
        assert_eq!(account.grow(0, 60, None, 100), Ok(true));
        assert_eq!(account.grow(0, 30, None, 100), Ok(true));
        assert_eq!(account.grow(60, 71, None, 100), Err(Exceeded));
        assert_eq!(account.grow(60, 70, None, 100), Ok(true));
    }

    #[test]
    fn a_growth_that_failed_does_not_count() {
        let mut account = Account::default();
        assert_eq!(account.grow(0, 100, None, 100), Ok(true));
        account.undo();
        assert_eq!(account.grow(0, 100, None, 100), Ok(true));
    }

    #[test]
    fn a_growth_past_the_memorys_own_maximum_is_refused_and_is_not_ours() {
        let mut account = Account::default();
        assert_eq!(account.grow(0, 200, Some(150), 100), Ok(false));
        assert_eq!(account, Account::default());
    }

    #[test]
    fn a_hit_names_the_setting_and_what_it_allowed() {
        let shown = |limit, allowed| LimitHit { limit, allowed }.to_string();
        insta::assert_snapshot!(
            [
                shown(Limit::MemoryBytes, 65536),
                shown(Limit::TableElements, 10),
                shown(Limit::Instances, 1),
                shown(Limit::Deadline, 1500),
            ]
            .join("\n"),
            @r"
        the guest needs more than its 65536 bytes of memory (capabilities.limits.memory_bytes)
        the guest needs more than its 10 table elements (capabilities.limits.table_elements)
        the guest needs more than its 1 instances (capabilities.limits.instances)
        the guest did not end within its 1.5 seconds (capabilities.limits.deadline_seconds)
        "
        );
    }
}
