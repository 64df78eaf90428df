//! What the fuzz targets share: how an input is read, how schemas are made from choices, and what must
//! hold for every one of them.
#![forbid(unsafe_code)]

pub mod generate;
pub mod input;
pub mod javascript;
pub mod openapi;
mod pools;
pub mod promises;
pub mod random;
pub mod serve;
pub mod targets;
mod typebox;
pub mod wire;
mod words;
mod written;
