//! Hash tables that are looked into for every message.
//!
//! The standard tables hash with `SipHash`, which costs more than all else that is done with an id. `foldhash` has a seed for
//! each table too, chosen at random, so that ids which collide cannot be prepared. It is weaker against who can measure how
//! long each look-up takes; so it is for tables whose size is bounded, or whose keys are made on this side.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

/// A map, made with `default()`.
pub type Table<K, V> = HashMap<K, V, RandomState>;

/// A set, made with `default()`.
pub type KeySet<K> = HashSet<K, RandomState>;
