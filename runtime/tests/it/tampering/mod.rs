//! Rewriting a record while the session that it records is running, by the capsule itself and by a process that no
//! sandbox holds. No attempt may end in a record that reads as verified and is not what the host wrote.

mod at_the_end;
mod forgery;
mod from_inside;
mod from_outside;
