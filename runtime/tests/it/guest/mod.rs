//! Guests: what they are given, what they are refused, and how they end.
//!
//! What each guest does is chosen by its task or input: see `testdata/guests`.

mod calling;
mod ending;
mod limits;
mod loading;
mod protection;
mod scene;
mod surroundings;
