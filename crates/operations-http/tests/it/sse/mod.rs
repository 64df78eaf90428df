//! Server-sent events, without Node and without a network. `__test__/sse/` runs the same table
//! through the public name.

mod cuts;
mod frames;
mod limits;
mod random;
mod reference;
mod resuming;
mod table;
