//! A request's body that may have to be sent again.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, Full};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use wasmtime_wasi_http::{Error, WasiBody};

/// A larger body is not kept.
const LARGEST: usize = 1 << 20;

/// A body that leaves a copy of what went through it.
pub(crate) struct Kept {
    inner: WasiBody,
    copy: Replay,
}

/// The copy of a body.
#[derive(Clone)]
pub(crate) struct Replay(Arc<Mutex<Copy>>);

struct Copy {
    /// `None` when it became too large, or has trailers.
    pieces: Option<Vec<u8>>,
    /// How long the body is to be, where that was said: it is not asked for its end then.
    announced: Option<u64>,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Reached,
    Open,
}

impl Kept {
    /// Wraps a body of which so many bytes are announced.
    pub(crate) fn new(inner: WasiBody, announced: Option<u64>) -> (Self, Replay) {
        let end = if inner.is_end_stream() { End::Reached } else { End::Open };
        let copy = Replay(Arc::new(Mutex::new(Copy { pieces: Some(Vec::new()), announced, end })));
        (Self { inner, copy: copy.clone() }, copy)
    }
}

impl Body for Kept {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        self.copy.take_down(frame.as_ref(), self.inner.is_end_stream());
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Replay {
    fn take_down(&self, frame: Option<&Result<Frame<Bytes>, Error>>, ended: bool) {
        let mut copy = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = LARGEST - copy.pieces.as_ref().map_or(0, Vec::len);
        match frame {
            None => copy.end = End::Reached,
            Some(Ok(frame)) => match (frame.data_ref(), &mut copy.pieces) {
                (Some(data), Some(pieces)) if data.len() <= room => pieces.extend_from_slice(data),
                (Some(_) | None, _) => copy.pieces = None,
            },
            Some(Err(_)) => copy.pieces = None,
        }
        if ended {
            copy.end = End::Reached;
        }
    }

    /// The body once more, if all of it went through and it was small enough.
    pub(crate) fn take(&self) -> Option<WasiBody> {
        let mut copy = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pieces = copy.pieces.take()?;
        let whole = copy.end == End::Reached || copy.announced == Some(pieces.len() as u64);
        whole.then(|| Full::new(Bytes::from(pieces)).map_err(Error::from).boxed_unsync())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use http_body_util::Empty;

    fn body(text: &str) -> WasiBody {
        Full::new(Bytes::from(text.to_owned())).map_err(Error::from).boxed_unsync()
    }

    async fn replayed(body: WasiBody, announced: Option<u64>) -> Option<Bytes> {
        let (kept, replay) = Kept::new(body, announced);
        kept.collect().await.unwrap();
        Some(replay.take()?.collect().await.unwrap().to_bytes())
    }

    #[tokio::test]
    async fn a_body_that_went_through_can_be_sent_again() {
        assert_eq!(replayed(body("text"), None).await.unwrap(), "text");
        assert_eq!(replayed(body("text"), Some(4)).await.unwrap(), "text");
        assert_eq!(replayed(Empty::new().map_err(Error::from).boxed_unsync(), None).await.unwrap(), "");
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_cannot_be_sent_again() {
        assert_eq!(replayed(body(&"x".repeat(LARGEST)), None).await.unwrap().len(), LARGEST);
        assert_eq!(replayed(body(&"x".repeat(LARGEST + 1)), None).await, None);
    }

    #[test]
    fn a_body_that_did_not_go_through_whole_cannot_be_sent_again() {
        let (kept, replay) = Kept::new(body("text"), Some(4));
        drop(kept);
        assert!(replay.take().is_none());
    }
}
