//! What the schema says about a property name: which schemas apply, and whether it may stay.

use super::nodes::NodeList;
use super::normaliser::Normaliser;
use super::view::{ObjectRule, View};
use crate::ir::{Additional, KeyId, NodeId, PatternId};
use crate::value_access::{Interrupt, Result, ValueBuilder};

/// What the schema says about one property name.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "answers to separate questions"
)]
pub(super) struct PropertyDisposition {
    /// The schemas of the property.
    pub(super) nodes: NodeList,
    /// Those of them that come with being required.
    pub(super) requiring: NodeList,
    /// Those of them that apply as soon as the property is there, even if it holds `undefined`:
    /// TypeBox's records and additional properties.
    pub(super) listing: NodeList,
    /// Some rule names it.
    declared: bool,
    /// Some rule lists it as required.
    pub(super) required: bool,
    /// It must be there, even where its schema accepts `undefined`.
    pub(super) needs_presence: bool,
    /// Some rule allows properties that it does not name.
    allowed: bool,
    /// Some rule allows no property that it does not name.
    forbidden: bool,
    /// Some rule says which properties there are, and this one is not among them.
    unnamed: bool,
    /// `additionalProperties` of a JSON Schema has a say, so `unevaluatedProperties` has none.
    evaluated: bool,
}

impl PropertyDisposition {
    pub(super) fn is_removed(&self) -> bool {
        !self.declared && (self.forbidden || (self.unnamed && !self.allowed))
    }
}

impl<'p, A: ValueBuilder> Normaliser<'p, '_, A> {
    /// What all rules together say about a name. `key` is the live key, where there is one, for the
    /// patterns; `known` becomes the name's id where the program has it.
    pub(super) fn disposition_of(
        &mut self,
        view: &View<'p>,
        text: &str,
        key: Option<A::Key>,
        known: &mut Option<KeyId>,
    ) -> Result<PropertyDisposition> {
        let program = self.walk.program;
        // Each rule is asked, and each may add a schema that is compared with those before it.
        let rules = (view.objects.len() + view.names.len()) as u64;
        self.walk.spend(rules * 4 + rules * rules / 8)?;
        let mut disposition = PropertyDisposition::default();
        let mut rest = None;
        let mut no_rest = false;
        for rule in &view.objects {
            match rule {
                ObjectRule::Object(rules) => {
                    if let Some(property) = rules.find(program, text) {
                        *known = Some(property.key);
                        disposition.declare(property.node);
                        disposition.require(property.node, property.required);
                        disposition.needs_presence |=
                            property.required && program.node(property.node).meta.needs_presence;
                    } else {
                        disposition.list_additional(rules.additional);
                        disposition.add_additional(rules.additional, true);
                    }
                }
                ObjectRule::Record(rules) => match self.key_matches(rules.pattern, text, key) {
                    Ok(true) => {
                        disposition.declare(rules.values);
                        disposition.listing.push(rules.values);
                    }
                    Ok(false) => {
                        disposition.allowed |= rules.additional == Additional::Unspecified;
                        disposition.list_additional(rules.additional);
                        disposition.add_additional(rules.additional, false);
                    }
                    // The pattern is no regular expression: it says nothing about a name, so the
                    // property stays, and the check at the end says that the value does not pass.
                    Err(Interrupt::TypeBoxThrows) => disposition.declared = true,
                    Err(interrupt) => return Err(interrupt),
                },
                ObjectRule::Json(rules) => {
                    let mut named = false;
                    if let Some(property) = rules.find(program, text) {
                        *known = Some(property.key);
                        disposition.declare(property.node);
                        disposition.require(property.node, property.required);
                        disposition.needs_presence |= property.required;
                        named = true;
                    } else if let Some(required) = self.required_key(&rules.required, text)? {
                        *known = Some(required);
                        disposition.require_presence();
                    }
                    for member in &rules.patterns {
                        self.walk.spend(1)?;
                        if self.key_matches(member.pattern, text, key)? {
                            disposition.declare(member.node);
                            named = true;
                        }
                    }
                    if !named {
                        disposition.evaluated |= rules.additional != Additional::Unspecified;
                        disposition.add_additional(rules.additional, rules.declares_properties);
                    }
                }
                ObjectRule::Rest(node, known) => rest = Some((*node, *known)),
                ObjectRule::NoRest => no_rest = true,
            }
        }
        if let Some(dependent) = self.required_key(&view.dependents, text)? {
            *known = Some(dependent);
            disposition.require_presence();
        }
        disposition.declared |= view
            .names
            .iter()
            .any(|rules| rules.find(program, text).is_some());
        if !disposition.declared && !disposition.evaluated {
            disposition.forbidden |= no_rest;
            if let Some((node, known)) = rest {
                disposition.allowed = true;
                let spared = match known.map(|known| self.key_matches(known, text, key)) {
                    None | Some(Err(Interrupt::TypeBoxThrows)) => false,
                    Some(matches) => matches?,
                };
                if !spared {
                    disposition.nodes.push(node);
                }
            }
        }
        Ok(disposition)
    }

    /// A name that is required although no schema is declared for it.
    fn required_key(&mut self, required: &[KeyId], text: &str) -> Result<Option<KeyId>> {
        self.walk.spend(required.len() as u64 / 2)?;
        Ok(required
            .iter()
            .copied()
            .find(|id| self.walk.program.key_text(*id) == text))
    }

    fn key_matches(&mut self, id: PatternId, text: &str, key: Option<A::Key>) -> Result<bool> {
        let value = match key {
            Some(key) => self.walk.access.key_value(key),
            None => self.make_string(text)?,
        };
        self.walk.matches(value, id)
    }
}

impl PropertyDisposition {
    fn require(&mut self, node: NodeId, required: bool) {
        if required {
            self.required = true;
            self.requiring.push(node);
        }
    }

    /// It must be there, whatever it is.
    fn require_presence(&mut self) {
        self.declared = true;
        self.required = true;
        self.needs_presence = true;
    }

    fn declare(&mut self, node: NodeId) {
        self.declared = true;
        self.nodes.push(node);
    }

    fn list_additional(&mut self, additional: Additional) {
        if let Additional::Schema(node) = additional {
            self.listing.push(node);
        }
    }

    fn add_additional(&mut self, additional: Additional, lists_properties: bool) {
        match additional {
            Additional::Unspecified => self.unnamed |= lists_properties,
            Additional::Allowed => self.allowed = true,
            Additional::Forbidden => self.forbidden = true,
            Additional::Schema(node) => {
                self.allowed = true;
                self.nodes.push(node);
            }
        }
    }
}
