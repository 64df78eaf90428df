//! Which variant of a union a value is meant to be.

use super::normaliser::Normaliser;
use super::types::{self, Types};
use crate::ir::{ConstId, KeyId, NodeId, ObjectRules, Shape};
use crate::value_access::{Class, Result, ValueBuilder};

/// How deep unions inside unions are scored.
const MAX_NESTING: u32 = 16;

/// How many variants are looked at, in unions inside unions, for one that accepts everything.
const MAX_LOOKS: u64 = 256;

/// What a property counts: being the literal that the variant declares, passing its schema, being
/// there at all. TypeBox's `Value.Cast` counts the same.
const LITERAL: u64 = 100;
const PASSES: u64 = 10;
const EXISTS: u64 = 1;

impl<A: ValueBuilder> Normaliser<'_, '_, A> {
    /// The variant for a value with parts: of those that pass, else of all, the one with the
    /// highest score, then the first; but one that accepts everything before all others. None when
    /// there are no variants.
    #[inline(never)]
    pub(super) fn choose(
        &mut self,
        variants: &[NodeId],
        value: A::Value,
        class: Class,
    ) -> Result<Option<NodeId>> {
        if let [only] = variants {
            return Ok(Some(*only));
        }
        self.chose = true;
        let mut passing = Vec::new();
        for variant in variants {
            if self.walk.passes(*variant, value)? {
                passing.push(*variant);
            }
        }
        if let [only] = passing.as_slice() {
            return Ok(Some(*only));
        }
        let mut looks = MAX_LOOKS;
        let open = passing
            .iter()
            .find(|variant| self.accepts_all(**variant, MAX_NESTING, &mut looks));
        self.walk.spend(MAX_LOOKS - looks)?;
        if let Some(open) = open {
            // A union with Unknown is Unknown, and that is never touched.
            return Ok(Some(*open));
        }
        let some_pass = !passing.is_empty();
        let field = if some_pass { &passing } else { variants };
        let mut best: Vec<NodeId> = Vec::new();
        let mut highest = 0;
        for variant in field {
            let score = self.score(*variant, value, Some(some_pass), MAX_NESTING)?;
            if score > highest {
                highest = score;
                best.clear();
            }
            if score == highest {
                best.push(*variant);
            }
        }
        if !some_pass && class == Class::Array {
            // An array that breaks only a rule inside is better mended than replaced.
            for variant in &best {
                let (types, looks) = types::of_node(self.walk.program, *variant);
                self.walk.spend(looks)?;
                if types.meets(Types::ARRAY) {
                    return Ok(Some(*variant));
                }
            }
        }
        Ok(best.first().copied())
    }

    /// Whether a variant accepts every value whatever.
    fn accepts_all(&self, variant: NodeId, nesting: u32, looks: &mut u64) -> bool {
        *looks = looks.saturating_sub(1);
        match self.walk.program.shape(self.walk.program.resolve(variant)) {
            Shape::Union(variants) if nesting > 0 && *looks > 0 => variants
                .iter()
                .any(|variant| *looks > 0 && self.accepts_all(*variant, nesting - 1, looks)),
            Shape::Json(json) => json.is_bare() && json.logic.is_none(),
            shape => shape.accepts_all(),
        }
    }

    /// How well a value matches a variant. `passes` is the verdict where it is known already.
    fn score(
        &mut self,
        variant: NodeId,
        value: A::Value,
        passes: Option<bool>,
        nesting: u32,
    ) -> Result<u64> {
        self.walk.spend(A::PRICES.rule)?;
        let program = self.walk.program;
        let variant = program.resolve(variant);
        match program.shape(variant) {
            Shape::Object(object) => {
                let mut score = 0;
                for property in &object.properties {
                    let literal = match program.shape(property.node) {
                        Shape::Literal(constant) => Some(*constant),
                        _ => None,
                    };
                    score +=
                        self.score_property(property.key, property.node, literal, value, true)?;
                }
                return Ok(score);
            }
            Shape::Union(variants) if nesting > 0 => {
                return self.highest_score(variants, value, nesting - 1);
            }
            Shape::Json(_) => {
                let (rules, unions) = self.object_rules(variant)?;
                if rules.iter().any(|rules| !rules.properties.is_empty()) {
                    return self.score_rules(&rules, value);
                }
                if nesting > 0 && !unions.is_empty() {
                    let mut score = 0;
                    for variants in unions {
                        score = score.max(self.highest_score(variants, value, nesting - 1)?);
                    }
                    return Ok(score);
                }
            }
            _ => {}
        }
        let passes = match passes {
            Some(known) => known,
            None => self.walk.passes(variant, value)?,
        };
        Ok(u64::from(passes))
    }

    fn highest_score(&mut self, variants: &[NodeId], value: A::Value, nesting: u32) -> Result<u64> {
        let mut highest = 0;
        for variant in variants {
            highest = highest.max(self.score(*variant, value, None, nesting)?);
        }
        Ok(highest)
    }

    fn score_rules(&mut self, rules: &[&ObjectRules], value: A::Value) -> Result<u64> {
        let mut score = 0;
        for property in rules.iter().flat_map(|rules| &rules.properties) {
            let literal = self.only_constant(property.node);
            score += self.score_property(property.key, property.node, literal, value, false)?;
        }
        Ok(score)
    }

    /// The constant that a JSON Schema is: `const`, or an `enum` of one.
    fn only_constant(&self, node: NodeId) -> Option<ConstId> {
        let Shape::Json(json) = self.walk.program.shape(node) else {
            return None;
        };
        match json.enumeration.as_deref() {
            Some([constant]) => Some(*constant),
            _ => json.constant,
        }
    }

    /// A missing property can pass the schema of a TypeBox kind, as `undefined`; in JSON it is
    /// simply not there.
    fn score_property(
        &mut self,
        key: KeyId,
        node: NodeId,
        literal: Option<ConstId>,
        value: A::Value,
        missing_may_pass: bool,
    ) -> Result<u64> {
        let exists = self.walk.has(value, key)?;
        if !exists && !missing_may_pass {
            return Ok(0);
        }
        let found = self.walk.get(value, key)?;
        let mut score = if exists { EXISTS } else { 0 };
        if self.walk.passes(node, found)? {
            score += PASSES;
        }
        if let Some(id) = literal
            && self
                .walk
                .access
                .same(found, id, self.walk.program.constant(id))?
        {
            score += LITERAL;
        }
        Ok(score)
    }
}

/// The rules about properties of a JSON Schema, and the unions beside them.
type RulesAndUnions<'p> = (Vec<&'p ObjectRules>, Vec<&'p [NodeId]>);

impl<'p, A: ValueBuilder> Normaliser<'p, '_, A> {
    /// Gathers a JSON Schema's rules about properties through `$ref` and `allOf`.
    fn object_rules(&mut self, node: NodeId) -> Result<RulesAndUnions<'p>> {
        let mut rules = Vec::new();
        let mut unions: Vec<&'p [NodeId]> = Vec::new();
        let mut pending = super::view::Pending::new(&[node]);
        while let Some((id, _)) = pending.next() {
            self.walk.spend(1 + pending.effort() as u64 / 16)?;
            let Shape::Json(json) = self.walk.program.shape(self.walk.program.resolve(id)) else {
                continue;
            };
            rules.extend(json.object.as_deref());
            if let Some(logic) = &json.logic {
                for variants in [&logic.any_of, &logic.one_of].into_iter().flatten() {
                    unions.push(variants);
                }
                pending.push_all(&logic.all_of, true);
                pending.extend(logic.reference, true);
            }
        }
        Ok((rules, unions))
    }
}
