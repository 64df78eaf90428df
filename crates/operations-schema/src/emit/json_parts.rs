//! JSON Schema: keywords that look into arrays and objects.

use super::keys::one_of_names;
use super::leaf::push_size;
use super::writer::{Local, Scope, Writer};
use crate::ir::{Additional, ArrayRules, ObjectRules, Property};

impl Writer<'_> {
    pub(super) fn array_rules(&mut self, rules: &ArrayRules, v: Local, scope: Scope) {
        let mut test = String::from("true");
        push_size(&mut test, &format!("{v}.length"), rules.length);
        if test != "true" {
            self.require(&test, scope);
        }
        for (position, item) in rules.prefix.iter().enumerate() {
            if !self.accepts_all(*item) {
                self.put(format_args!("if({v}.length>{position}){{"));
                self.element(*item, v, position, scope);
                self.put(format_args!("}}"));
            }
        }
        if let Some(rest) = rules.rest {
            self.each(rest, v, &rules.prefix.len().to_string(), scope);
        }
        if rules.unique {
            self.require(&format!("{v}.length<2||isDistinct({v})"), scope);
        }
        if let Some(contains) = rules.contains {
            let count = self.count(contains, v, scope);
            let mut test = String::from("true");
            push_size(&mut test, &count, rules.matching);
            self.require(&test, scope);
        }
    }

    pub(super) fn object_rules(&mut self, rules: &ObjectRules, v: Local, scope: Scope) {
        if rules.size.is_given() {
            let keys = self.keys_of(v);
            self.require_size(&keys, rules.size, scope);
        }
        for property in &rules.properties {
            if self.is_too_long() {
                return;
            }
            self.property_rule(property, v, scope);
        }
        for key in &rules.required {
            let declared = rules
                .properties
                .iter()
                .any(|property| property.key == *key && property.required);
            if !declared {
                let present = self.is_present(v, *key);
                self.require(&present, scope);
            }
        }
        self.names_and_others(rules, v, scope);
        for dependency in &rules.dependencies {
            let present = self.is_present(v, dependency.key);
            self.put(format_args!("if({present}){{"));
            for key in &dependency.required {
                let present = self.is_present(v, *key);
                self.require(&present, scope);
            }
            if let Some(node) = dependency.node {
                self.visit(node, v, scope.member());
            }
            self.put(format_args!("}}"));
        }
    }

    fn property_rule(&mut self, property: &Property, v: Local, scope: Scope) {
        let accepts_all = self.accepts_all(property.node);
        if accepts_all && !property.required {
            return;
        }
        let part = self.local();
        let read = self.read(v, property.key);
        self.put(format_args!("const {part}={read};"));
        if property.required {
            self.require(&format!("{part}!==undefined"), scope);
            self.visit(property.node, part, scope.deeper());
        } else {
            self.put(format_args!("if({part}!==undefined){{"));
            self.visit(property.node, part, scope.deeper());
            self.put(format_args!("}}"));
        }
    }

    /// `propertyNames`, `patternProperties` and `additionalProperties`: one loop over the names.
    fn names_and_others(&mut self, rules: &ObjectRules, v: Local, scope: Scope) {
        let others = match rules.additional {
            Additional::Schema(node) => !self.accepts_all(node),
            Additional::Forbidden => true,
            Additional::Unspecified | Additional::Allowed => false,
        };
        if rules.names.is_none() && rules.patterns.is_empty() && !others {
            return;
        }
        let (keys, key) = (self.mark(), self.local());
        let list = self.keys_of(v);
        self.put(format_args!("const {keys}={list};"));
        self.each_name(keys, key, |writer| {
            writer.name_and_other(rules, others, v, key, scope);
        });
    }

    /// What one name must be like, and its value.
    fn name_and_other(
        &mut self,
        rules: &ObjectRules,
        others: bool,
        v: Local,
        key: Local,
        scope: Scope,
    ) {
        let (known, part) = (self.mark(), self.local());
        if let Some(names) = rules.names {
            self.visit(names, key, scope.check().deeper());
        }
        if !rules.patterns.is_empty() || others {
            self.put(format_args!("const {part}={v}[{key}];"));
            let program = self.program;
            let declared: Vec<&str> = rules
                .properties
                .iter()
                .map(|property| program.key_text(property.key))
                .collect();
            let is_declared = one_of_names(&declared, &key.to_string());
            self.put(format_args!("let {known}={is_declared};"));
            for rule in &rules.patterns {
                let matches = self.matches(rule.pattern, &key.to_string());
                self.put(format_args!(
                    "if({matches}){{{known}=true;if({part}!==undefined){{"
                ));
                self.visit(rule.node, part, scope.deeper());
                self.put(format_args!("}}}}"));
            }
            match rules.additional {
                // What is `undefined` is not there.
                Additional::Forbidden => {
                    self.require(&format!("{known}||{part}===undefined"), scope);
                }
                Additional::Schema(node) => {
                    self.put(format_args!("if(!{known}&&{part}!==undefined){{"));
                    self.visit(node, part, scope.deeper());
                    self.put(format_args!("}}"));
                }
                Additional::Unspecified | Additional::Allowed => {}
            }
        }
    }
}
