//! Guests: what they are given, what they are refused, and how they end.
//!
//! What each guest does is chosen by its task or input: see `testdata/guests`.

mod calling;
mod directories;
mod ending;
mod gateways;
mod limits;
mod loading;
mod protection;
mod requests;
mod scene;
mod served;
mod servers;
mod surroundings;
