//! The schema engine: one compiled form of a schema for check, errors, normalisation and emitted
//! JavaScript. The design is in `docs/design/schema-engine.md`; the engine lands next.

#![forbid(unsafe_code)]
