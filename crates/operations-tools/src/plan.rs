//! The steps that lead from a projected schema's shape back to the original's.

use serde_json::{Map, Value};

use crate::checker::Checker;

/// A step, by its place in [`Plans`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlanId(usize);

impl PlanId {
    /// The step that changes nothing.
    pub(crate) const KEEP: Self = Self(0);
}

/// What is done with one value.
#[derive(Debug)]
pub(crate) enum Plan {
    Keep,
    /// Does what another step does: a definition's, which is known when it has been walked.
    Same(PlanId),
    /// Properties are renamed, restored, or dropped.
    Object {
        fields: Vec<Field>,
        /// For those that are not among the fields.
        others: PlanId,
    },
    Array {
        prefix: Vec<PlanId>,
        rest: PlanId,
    },
    /// A list of `{ key, value }` is an object.
    Pairs(PlanId),
    /// An object with a property for each place is an array.
    Tuple {
        fields: Vec<Field>,
        rest: Option<(String, PlanId)>,
    },
    /// A text holds JSON.
    Json(Expect),
    /// A text stands for another value.
    Texts(Vec<(String, Value)>),
    /// The first that accepts the value and whose result the original accepts.
    Variants(Vec<Variant>),
    /// One after the other.
    All(Vec<PlanId>),
    /// The value is the one property of an object.
    Unwrap(String, PlanId),
    /// There is no value.
    Nothing,
}

/// What JSON text is expected to hold. A text that holds something else is meant as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    Anything,
    Object,
    Array,
}

#[derive(Debug)]
pub(crate) struct Field {
    /// What it is called in the projection, and in the original.
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) plan: PlanId,
    /// Null means that it is not there.
    pub(crate) null_is_absent: bool,
}

#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) projected: Checker,
    pub(crate) original: Checker,
    pub(crate) plan: PlanId,
}

/// The steps of one projection.
#[derive(Debug)]
pub(crate) struct Plans {
    steps: Vec<Plan>,
    /// Whether a step changes anything, itself or below; known once all are there.
    active: Vec<bool>,
    /// What the schemas of variants refer to.
    pub(crate) projected: Map<String, Value>,
    pub(crate) original: Map<String, Value>,
}

impl Default for Plans {
    fn default() -> Self {
        Self {
            steps: vec![Plan::Keep],
            active: Vec::new(),
            projected: Map::new(),
            original: Map::new(),
        }
    }
}

impl Plans {
    pub(crate) fn add(&mut self, plan: Plan) -> PlanId {
        if is_plainly_idle(&plan) {
            return PlanId::KEEP;
        }
        self.steps.push(plan);
        PlanId(self.steps.len() - 1)
    }

    /// A place for a step that is not known yet.
    pub(crate) fn reserve(&mut self) -> PlanId {
        self.steps.push(Plan::Keep);
        PlanId(self.steps.len() - 1)
    }

    pub(crate) fn fill(&mut self, reserved: PlanId, plan: PlanId) {
        if let Some(step) = self.steps.get_mut(reserved.0) {
            *step = Plan::Same(plan);
        }
    }

    /// Finds out which steps do anything. Circles make it a question of repeating until nothing changes.
    pub(crate) fn settle(&mut self) {
        self.active = vec![false; self.steps.len()];
        loop {
            let mut changed = false;
            for (index, step) in self.steps.iter().enumerate() {
                let active = self.is_active(PlanId(index)) || self.acts(step);
                if let Some(known) = self.active.get_mut(index)
                    && *known != active
                {
                    *known = active;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Takes the definitions that variants need, if there are any variants to tell apart.
    pub(crate) fn keep_definitions(
        &mut self,
        projected: &Map<String, Value>,
        original: impl FnOnce() -> Map<String, Value>,
    ) {
        let mut variants = self.steps.iter().zip(&self.active);
        if variants.any(|(step, active)| *active && matches!(step, Plan::Variants(_))) {
            self.projected.clone_from(projected);
            self.original = original();
        }
    }

    pub(crate) fn step(&self, id: PlanId) -> Option<&Plan> {
        self.steps.get(id.0)
    }

    pub(crate) fn is_active(&self, id: PlanId) -> bool {
        self.active.get(id.0).copied().unwrap_or(false)
    }

    fn acts(&self, step: &Plan) -> bool {
        let field = |field: &Field| {
            field.null_is_absent || field.from != field.to || self.is_active(field.plan)
        };
        match step {
            Plan::Keep => false,
            Plan::Same(plan) => self.is_active(*plan),
            Plan::Object { fields, others } => fields.iter().any(field) || self.is_active(*others),
            Plan::Array { prefix, rest } => {
                prefix.iter().any(|plan| self.is_active(*plan)) || self.is_active(*rest)
            }
            Plan::Variants(variants) => variants.iter().any(|variant| self.is_active(variant.plan)),
            Plan::All(plans) => plans.iter().any(|plan| self.is_active(*plan)),
            Plan::Pairs(_)
            | Plan::Tuple { .. }
            | Plan::Json(_)
            | Plan::Texts(_)
            | Plan::Unwrap(..)
            | Plan::Nothing => true,
        }
    }
}

fn is_plainly_idle(plan: &Plan) -> bool {
    match plan {
        Plan::Keep | Plan::Same(PlanId::KEEP) => true,
        Plan::Object { fields, others } => {
            *others == PlanId::KEEP
                && fields.iter().all(|field| {
                    field.plan == PlanId::KEEP && !field.null_is_absent && field.from == field.to
                })
        }
        Plan::Array { prefix, rest } => {
            *rest == PlanId::KEEP && prefix.iter().all(|plan| *plan == PlanId::KEEP)
        }
        Plan::Variants(variants) => variants.iter().all(|variant| variant.plan == PlanId::KEEP),
        Plan::All(plans) => plans.iter().all(|plan| *plan == PlanId::KEEP),
        _ => false,
    }
}
