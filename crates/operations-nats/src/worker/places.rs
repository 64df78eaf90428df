//! For whom a place is kept.

use std::sync::Arc;

use super::{Reserved, Want, Worker};
use crate::limits::{REMEMBERED, RESERVATION};
use crate::state::Todo;
use crate::wire::Notice;

impl Worker {
    /// How many places are neither taken nor promised.
    #[must_use]
    pub fn free(&self) -> usize {
        if self.is_draining {
            return 0;
        }
        self.concurrency
            .saturating_sub(self.running.len() + self.reserved_count)
    }

    /// A caller asks all workers for places.
    pub fn wanted(
        &mut self,
        now: f64,
        caller: &Arc<str>,
        operation: &Arc<str>,
        count: u64,
        todo: &mut Todo,
    ) {
        if count == 0 || !self.serves(operation) {
            return;
        }
        let want = (Arc::clone(caller), Arc::clone(operation));
        if !self.reserved.contains_key(&want) {
            self.remember(want, usize::try_from(count).unwrap_or(usize::MAX));
        }
        self.grant(now, todo);
    }

    /// A caller does not need the places that were kept for it.
    pub fn passed(
        &mut self,
        now: f64,
        caller: &Arc<str>,
        operation: &Arc<str>,
        count: u64,
        todo: &mut Todo,
    ) {
        let want = (Arc::clone(caller), Arc::clone(operation));
        for _ in 0..count {
            if !self.use_reservation(&want) {
                break;
            }
        }
        self.grant(now, todo);
    }

    pub(super) fn remember(&mut self, want: Want, count: usize) {
        if self.is_draining {
            return;
        }
        if let Some((_, known)) = self.wanting.iter_mut().find(|(known, _)| *known == want) {
            *known = count;
        } else if self.wanting.len() < REMEMBERED {
            self.wanting.push_back((want, count));
        }
    }

    pub(super) fn use_reservation(&mut self, want: &Want) -> bool {
        let Some(reserved) = self.reserved.get_mut(want) else {
            return false;
        };
        reserved.count -= 1;
        self.reserved_count -= 1;
        if reserved.count == 0 {
            self.reserved.remove(want);
        }
        true
    }

    /// Promises free places to those who wait, the longest waiting first.
    pub(super) fn grant(&mut self, now: f64, todo: &mut Todo) {
        while self.free() > 0
            && let Some((want, wanted)) = self.wanting.pop_front()
        {
            let count = wanted.min(self.free());
            let (caller, operation) = want.clone();
            let reserved = self
                .reserved
                .entry(want)
                .or_insert(Reserved { count: 0, at: now });
            reserved.count += count;
            reserved.at = now;
            self.reserved_count += count;
            let notice = Notice::Slots {
                from: Arc::clone(&self.me),
                operation,
                count: count as u64,
            };
            let reply = self.subjects.to_peer(&self.me, &format!("gone-{caller}"));
            todo.notify(self.subjects.to_peer(&caller, "note"), Some(reply), &notice);
        }
    }

    /// Every half second: places that were kept in vain are free again.
    pub fn tick(&mut self, now: f64, todo: &mut Todo) {
        let expired: Vec<Want> = self
            .reserved
            .iter()
            .filter(|(_, reserved)| now - reserved.at >= RESERVATION)
            .map(|(want, _)| want.clone())
            .collect();
        for want in expired {
            if let Some(reserved) = self.reserved.remove(&want) {
                self.reserved_count -= reserved.count;
            }
        }
        self.grant(now, todo);
    }

    /// A place was promised to somebody who does not listen. Should it come back, it will ask again.
    pub fn caller_absent(&mut self, now: f64, caller: &str, todo: &mut Todo) {
        self.wanting.retain(|((known, _), _)| &**known != caller);
        let kept: Vec<Want> = self
            .reserved
            .keys()
            .filter(|(known, _)| &**known == caller)
            .cloned()
            .collect();
        for want in kept {
            if let Some(reserved) = self.reserved.remove(&want) {
                self.reserved_count -= reserved.count;
            }
        }
        self.grant(now, todo);
    }
}
