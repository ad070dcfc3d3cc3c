//! `mur run`: what a person sees, what a session leaves on disk, how it ends, and what is refused before it begins.

mod ending;
mod explain;
mod grants;
mod installed;
mod links;
mod record;
mod refusals;
mod scope;
mod streams;
mod task;
mod workdir;
