//! TypeBox's objects and records.

use std::fmt;

use super::coverage::{UNION_LEVELS, refuses_undefined};
use super::keys::{Declared, one_of_names};
use super::leaf::{INVALID, Leaf, push_size};
use super::literal;
use super::writer::{Local, Mark, Mode, Scope, Writer};
use crate::ir::{
    Additional, KeyId, MinMax, NodeId, ObjectNode, Property, RecordNode, Shape, UnevaluatedKeys,
};

impl Writer<'_> {
    pub(super) fn object(&mut self, id: NodeId, object: &ObjectNode, v: Local, scope: Scope) {
        self.require(&is_object(v), scope);
        self.count_names(v, object.size, scope);
        for property in &object.properties {
            if self.is_too_long() {
                return;
            }
            self.property(property, v, scope);
        }
        match object.additional {
            Additional::Unspecified | Additional::Allowed => {}
            Additional::Forbidden => self.forbid_others(object, v, scope),
            Additional::Schema(node) => self.visit_others(node, object, v, scope),
        }
        // A forbidden property is refused above, so none is left to find.
        if scope.mode == Mode::Exact && object.additional == Additional::Unspecified {
            let declared = Declared::by(self.program, id);
            self.undeclared(&declared, v, scope);
        }
    }

    pub(super) fn record(&mut self, record: &RecordNode, v: Local, scope: Scope) {
        self.require(
            &format!("{}&&!isDate({v})&&!isBytes({v})", is_object(v)),
            scope,
        );
        self.count_names(v, record.size, scope);
        let (keys, key) = (self.mark(), self.mark());
        let matches = self.matches(record.pattern, &key.to_string());
        let accepts_all = self.accepts_all(record.values);
        let forbids = record.additional == Additional::Forbidden;
        if accepts_all && !forbids && !matches!(record.additional, Additional::Schema(_)) {
            return;
        }
        let list = self.keys_of(v);
        self.put(format_args!("const {keys}={list};"));
        self.each_name(keys, key, |writer| {
            let part = writer.local();
            writer.put(format_args!("const {part}={v}[{key}];"));
            writer.entry_of_record(record, &matches, part, scope);
        });
        if forbids {
            // Names that are not enumerable count as well.
            let (names, name) = (self.mark(), self.mark());
            let matches = self.matches(record.pattern, &name.to_string());
            let list = self.names_of(v);
            self.put(format_args!(
                "const {names}={list};if({names}.length!=={keys}.length)"
            ));
            self.each_name(names, name, |writer| writer.require(&matches, scope));
        }
    }

    fn entry_of_record(&mut self, record: &RecordNode, matches: &str, part: Local, scope: Scope) {
        let inner = scope.deeper();
        match record.additional {
            Additional::Forbidden => {
                self.require(matches, scope);
                self.visit(record.values, part, inner);
            }
            Additional::Schema(others) => {
                self.put(format_args!("if({matches}){{"));
                self.visit(record.values, part, inner);
                self.put(format_args!("}}else{{"));
                self.visit(others, part, inner);
                self.put(format_args!("}}"));
            }
            Additional::Unspecified | Additional::Allowed => {
                let value = self.program.resolve(record.values);
                let leaf = self
                    .is_cheap(value)
                    .then(|| self.leaf(value, part))
                    .flatten();
                if let Some(Leaf::Test(test)) = leaf {
                    // Where the value passes its key does not matter, and most values pass.
                    self.put(format_args!("if(!({test})&&{matches}){{{}}}", scope.fail));
                } else {
                    self.put(format_args!("if({matches}){{"));
                    self.visit(record.values, part, inner);
                    self.put(format_args!("}}"));
                }
            }
        }
    }

    /// Whether a node is decided without a pattern, without code of the user and without throwing.
    fn is_cheap(&self, id: NodeId) -> bool {
        match self.program.shape(id) {
            Shape::Boolean
            | Shape::Integer(_)
            | Shape::Literal(_)
            | Shape::Null
            | Shape::Number(_) => true,
            Shape::String(string) => string.pattern.is_none() && string.format.is_none(),
            _ => false,
        }
    }

    /// Reads a declared property and visits it.
    fn property(&mut self, property: &Property, v: Local, scope: Scope) {
        let part = self.local();
        let read = self.read(v, property.key);
        self.put(format_args!("const {part}={read};"));
        let node = self.program.resolve(property.node);
        let inner = scope.deeper();
        if !property.required {
            if !self.accepts_all(node) {
                self.put(format_args!("if({part}!==undefined){{"));
                self.visit(node, part, inner);
                self.put(format_args!("}}"));
            }
            return;
        }
        self.visit(node, part, inner);
        if self.program.node(property.node).meta.needs_presence {
            let has = self.has(v, property.key);
            self.require(&format!("{part}!==undefined||{has}"), scope);
        } else if scope.mode != Mode::Check && !refuses_undefined(self.program, node, UNION_LEVELS)
        {
            // The check lets it be missing; normalisation would fill it.
            let has = self.has(v, property.key);
            self.put(format_args!(
                "if({part}===undefined&&!({has})){{{}}}",
                scope.inexact
            ));
        }
    }

    fn count_names(&mut self, v: Local, size: MinMax, scope: Scope) {
        if size.is_given() {
            let names = self.names_of(v);
            self.require_size(&names, size, scope);
        }
    }

    /// Compares the length of a list of names.
    pub(super) fn require_size(&mut self, names: &str, size: MinMax, scope: Scope) {
        let count = self.mark();
        self.put(format_args!("const {count}={names}.length;"));
        let mut test = String::from("true");
        push_size(&mut test, &count.to_string(), size);
        self.require(&test, scope);
    }

    fn forbid_others(&mut self, object: &ObjectNode, v: Local, scope: Scope) {
        let (names, name) = (self.mark(), self.mark());
        let known = self.known_names(object, &name.to_string());
        let list = self.names_of(v);
        self.put(format_args!("const {names}={list};"));
        // TypeBox only counts when every declared property is required. With an inherited property
        // among them the count can agree by accident, which "exact" must not rely on.
        let count = object.properties.len();
        if scope.mode == Mode::Check && object.required.len() == count {
            self.put(format_args!("if({names}.length!=={count})"));
        }
        self.each_name(names, name, |writer| writer.require(&known, scope));
    }

    /// A loop over a list of names; `write` writes what is done with each.
    pub(super) fn each_name(
        &mut self,
        names: Mark,
        name: impl fmt::Display,
        write: impl FnOnce(&mut Self),
    ) {
        let index = self.mark();
        self.put(format_args!(
            "for(let {index}=0;{index}<{names}.length;{index}++){{"
        ));
        self.charged(|writer| {
            writer.put(format_args!("const {name}={names}[{index}];"));
            write(writer);
        });
        self.put(format_args!("}}"));
    }

    fn visit_others(&mut self, node: NodeId, object: &ObjectNode, v: Local, scope: Scope) {
        if self.accepts_all(node) {
            return;
        }
        let (names, key) = (self.mark(), self.mark());
        let known = self.known_names(object, &key.to_string());
        let list = self.names_of(v);
        self.put(format_args!("const {names}={list};"));
        self.each_name(names, key, |writer| {
            writer.visit_unless(&known, node, v, key, scope);
        });
    }

    /// Visits the property of this name, unless it is known.
    fn visit_unless(&mut self, known: &str, node: NodeId, v: Local, key: Mark, scope: Scope) {
        let part = self.local();
        self.put(format_args!("if(!({known})){{const {part}={v}[{key}];"));
        self.visit(node, part, scope.deeper());
        self.put(format_args!("}}"));
    }

    fn known_names(&self, object: &ObjectNode, key: &str) -> String {
        let names: Vec<&str> = object
            .properties
            .iter()
            .map(|property| self.program.key_text(property.key))
            .collect();
        one_of_names(&names, key)
    }

    /// The expression that reads a property.
    pub(super) fn read(&self, v: Local, key: KeyId) -> String {
        let name = literal::string(self.program.key_text(key));
        if self.is_own_only(key) {
            format!("Object.hasOwn({v},{name})?{v}[{name}]:undefined")
        } else {
            format!("{v}[{name}]")
        }
    }

    /// The expression that says whether a property is there.
    pub(super) fn has(&self, v: Local, key: KeyId) -> String {
        let name = literal::string(self.program.key_text(key));
        if self.is_own_only(key) {
            format!("Object.hasOwn({v},{name})")
        } else {
            format!("{name} in {v}")
        }
    }

    /// The expression that says whether a property is there and not `undefined`.
    pub(super) fn is_present(&self, v: Local, key: KeyId) -> String {
        let name = literal::string(self.program.key_text(key));
        if self.is_own_only(key) {
            format!("Object.hasOwn({v},{name})&&{v}[{name}]!==undefined")
        } else {
            format!("{v}[{name}]!==undefined")
        }
    }

    fn is_own_only(&self, key: KeyId) -> bool {
        self.program
            .keys()
            .get(key.index())
            .is_some_and(|key| key.own_only)
    }

    /// TypeBox's `unevaluatedProperties` beside an Intersect.
    pub(super) fn unevaluated_keys(&mut self, keys: UnevaluatedKeys, v: Local, scope: Scope) {
        let (names, key) = (self.mark(), self.mark());
        let known = self.matches(keys.known, &key.to_string());
        let list = self.names_of(v);
        self.put(format_args!("const {names}={list};"));
        self.each_name(names, key, |writer| match keys.schema {
            None => writer.require(&known, scope),
            Some(node) => writer.visit_unless(&known, node, v, key, scope),
        });
    }

    /// TypeBox throws where it looks for properties of `undefined` and `null`.
    pub(super) fn throw_on_nothing(&mut self, v: Local) {
        self.put(format_args!("if({v}===undefined||{v}===null){INVALID};"));
    }

    /// `Type.Constructor`: the instance type describes `value.prototype`.
    pub(super) fn constructor(
        &mut self,
        returns: NodeId,
        prototype: KeyId,
        v: Local,
        scope: Scope,
    ) {
        self.throw_on_nothing(v);
        let part = self.local();
        let read = self.read(v, prototype);
        self.put(format_args!("const {part}={read};"));
        self.visit(returns, part, scope.check().deeper());
    }
}

/// The expression that says whether a value is an object and no array.
pub(super) fn is_object(v: Local) -> String {
    format!("typeof {v}===\"object\"&&{v}!==null&&!Array.isArray({v})")
}
