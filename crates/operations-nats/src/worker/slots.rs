//! Slots that are reserved for callers.

use std::sync::Arc;

use super::{Redeemed, Reserved, Waiting, Want, Worker};
use crate::limits::{REMEMBERED, RESERVATION};
use crate::state::Todo;
use crate::wire::{Notice, Signed};

impl Worker {
    /// How many slots are neither taken nor promised.
    #[must_use]
    pub fn free(&self) -> usize {
        if self.is_draining {
            return 0;
        }
        self.concurrency
            .saturating_sub(self.running.len() + self.reserved_count)
    }

    /// A caller asks all workers for slots.
    pub fn request_slots(
        &mut self,
        now: f64,
        caller: &Arc<str>,
        operation: &Arc<str>,
        count: u64,
        key: Option<Arc<str>>,
        todo: &mut Todo,
    ) {
        if count == 0 || !self.serves(operation) {
            return;
        }
        let want = (Arc::clone(caller), Arc::clone(operation));
        if !self.reserved.contains_key(&want) {
            self.remember(want, usize::try_from(count).unwrap_or(usize::MAX), key);
        }
        self.grant(now, todo);
    }

    /// A caller does not need the slots that were reserved for it.
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
            let Some(slot) = self.reserved.get(&want).and_then(|it| it.slots.last()) else {
                break;
            };
            self.use_slot(&want, *slot);
        }
        self.grant(now, todo);
    }

    pub(super) fn remember(&mut self, want: Want, count: usize, key: Option<Arc<str>>) {
        if self.is_draining {
            return;
        }
        let waiting = Waiting { want, count, key };
        let known = self.wanting.iter_mut();
        if let Some(known) = known.into_iter().find(|known| known.want == waiting.want) {
            *known = waiting;
        } else if self.wanting.len() < REMEMBERED {
            self.wanting.push_back(waiting);
        }
    }

    /// Uses a slot for a request of the caller that it was promised to: one that is signed with the caller's key, if the
    /// caller has one. Connections that share inboxes read each other's promises.
    pub(super) fn redeem(&mut self, want: &Want, signed: &Signed<'_>) -> Option<Redeemed> {
        let reserved = self.reserved.get(want)?;
        let slot = match &reserved.key {
            Some(key) => signed.slot_of(&self.me, key)?,
            None => *reserved.slots.last()?,
        };
        let key = reserved.key.clone();
        self.use_slot(want, slot).then_some(Redeemed { key })
    }

    /// Says whether the slot was promised.
    fn use_slot(&mut self, want: &Want, slot: u64) -> bool {
        let Some(reserved) = self.reserved.get_mut(want) else {
            return false;
        };
        let Some(at) = reserved.slots.iter().position(|known| *known == slot) else {
            return false;
        };
        reserved.slots.swap_remove(at);
        if reserved.slots.is_empty() {
            self.reserved.remove(want);
        }
        self.not_reserved(&want.0, 1);
        true
    }

    /// So many slots are not reserved for this caller any more.
    fn not_reserved(&mut self, caller: &Arc<str>, count: usize) {
        self.reserved_count -= count;
        if let Some(held) = self.reserved_for.get_mut(caller) {
            *held -= count;
            if *held == 0 {
                self.reserved_for.remove(caller);
            }
        }
    }

    fn forget_reservation(&mut self, want: &Want) {
        if let Some(reserved) = self.reserved.remove(want) {
            self.not_reserved(&want.0, reserved.slots.len());
        }
    }

    /// How many slots may be promised now. Promises cost those who ask for them nothing: so one caller gets half of
    /// the slots at most, and all of them together not the last one.
    fn may_promise(&self, now: f64, (caller, operation): &Want) -> usize {
        if !self.can_do(now, operation) {
            return 0;
        }
        let held = self.reserved_for.get(caller).copied().unwrap_or_default();
        let each = (self.concurrency / 2).max(1);
        let all = self.concurrency.saturating_sub(1).max(1);
        self.free()
            .min(each.saturating_sub(held))
            .min(all.saturating_sub(self.reserved_count))
    }

    /// Promises free slots to those who wait, the longest waiting first.
    pub(super) fn grant(&mut self, now: f64, todo: &mut Todo) {
        let mut at = 0;
        while self.free() > 0
            && let Some(waiting) = self.wanting.get(at)
        {
            let count = waiting.count.min(self.may_promise(now, &waiting.want));
            if count == 0 {
                at += 1;
                continue;
            }
            let Some(mut waiting) = self.wanting.remove(at) else {
                return;
            };
            let (want, key) = (waiting.want.clone(), waiting.key.clone());
            if waiting.count > count {
                // The rest of what it wants comes after what others want.
                waiting.count -= count;
                self.wanting.push_back(waiting);
            }
            let (caller, operation) = want.clone();
            let slot = self.next_slot;
            let next = slot.saturating_add(count as u64);
            self.next_slot = next;
            *self.reserved_for.entry(Arc::clone(&caller)).or_default() += count;
            let reserved = self.reserved.entry(want).or_insert(Reserved {
                slots: Vec::new(),
                key: None,
                at: now,
            });
            reserved.slots.extend(slot..next);
            reserved.key = key;
            reserved.at = now;
            self.reserved_count += count;
            let notice = Notice::Slots {
                from: Arc::clone(&self.me),
                operation,
                count: count as u64,
                slot: Some(slot),
            };
            let reply = self.subjects.gone(&self.me, &caller);
            todo.notify(self.subjects.to_peer(&caller, "note"), Some(reply), &notice);
        }
    }

    /// Every half second: unused reservations expire.
    pub fn tick(&mut self, now: f64, todo: &mut Todo) {
        self.give_back(now, todo);
        let expired: Vec<Want> = self
            .reserved
            .iter()
            .filter(|(_, reserved)| now - reserved.at >= RESERVATION)
            .map(|(want, _)| want.clone())
            .collect();
        for want in expired {
            self.forget_reservation(&want);
        }
        self.grant(now, todo);
    }

    /// A slot was promised to a caller that does not listen. Should it come back, it will ask again.
    pub fn caller_absent(&mut self, now: f64, caller: &str, todo: &mut Todo) {
        self.wanting.retain(|waiting| &*waiting.want.0 != caller);
        let kept: Vec<Want> = self
            .reserved
            .keys()
            .filter(|(known, _)| &**known == caller)
            .cloned()
            .collect();
        for want in kept {
            self.forget_reservation(&want);
        }
        self.grant(now, todo);
    }
}
