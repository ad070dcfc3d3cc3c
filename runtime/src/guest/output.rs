//! What guests print, on its way to the witness.

use super::witness::{Stream, Witness};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};

/// One output stream of one guest. Wasmtime holds at most 8 KiB in front of it and lets the guest wait until
/// that is written.
#[derive(Clone)]
pub(crate) struct Outlet {
    guest: Arc<str>,
    stream: Stream,
    witness: Arc<dyn Witness>,
}

impl Outlet {
    pub(crate) fn new(guest: &Arc<str>, stream: Stream, witness: &Arc<dyn Witness>) -> Self {
        Self { guest: Arc::clone(guest), stream, witness: Arc::clone(witness) }
    }
}

impl AsyncWrite for Outlet {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.witness.output(&self.guest, self.stream, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl IsTerminal for Outlet {
    /// Whatever the host's own output is: a guest writes no escape sequences that way.
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Outlet {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}
