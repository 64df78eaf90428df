//! TypeBox's arrays and tuples.

use std::fmt::Write as _;

use super::leaf::push_size;
use super::literal;
use super::writer::{Jump, Local, Scope, Writer};
use crate::ir::{ArrayNode, NodeId, TupleNode};

impl Writer<'_> {
    pub(super) fn array(&mut self, array: &ArrayNode, v: Local, scope: Scope) {
        let mut test = format!("Array.isArray({v})");
        push_size(&mut test, &format!("{v}.length"), array.length);
        self.require(&test, scope);
        self.each(array.items, v, "0", scope);
        if array.unique {
            self.require(&format!("{v}.length===0||isUnique({v})"), scope);
        }
        if array.counts() {
            let Some(contains) = array.contains else {
                // TypeBox counts what matches `Never`, finds none, and refuses.
                self.put(format_args!("{}", scope.fail));
                return;
            };
            let count = self.count(contains, v, scope);
            let mut test = format!("{count}!==0");
            push_size(&mut test, &count, array.matching);
            self.require(&test, scope);
        }
    }

    pub(super) fn tuple(&mut self, tuple: &TupleNode, v: Local, scope: Scope) {
        let Some(length) = tuple.length else {
            self.put(format_args!("{}", scope.fail));
            return;
        };
        let length = literal::number(length);
        let mut test = format!("Array.isArray({v})&&{v}.length==={length}");
        if tuple.items.is_none() {
            let _ = write!(test, "&&{v}.length===0");
        }
        self.require(&test, scope);
        for (position, item) in tuple.items.iter().flatten().enumerate() {
            self.element(*item, v, position, scope);
        }
    }

    /// Visits one element.
    pub(super) fn element(&mut self, item: NodeId, v: Local, position: usize, scope: Scope) {
        let part = self.local();
        self.put(format_args!("const {part}={v}[{position}];"));
        self.visit(item, part, scope.deeper());
    }

    /// Visits all elements from a position on.
    pub(super) fn each(&mut self, item: NodeId, v: Local, from: &str, scope: Scope) {
        if self.accepts_all(item) {
            return;
        }
        let (index, part) = (self.mark(), self.local());
        self.put(format_args!(
            "for(let {index}={from};{index}<{v}.length;{index}++){{"
        ));
        self.charged(|writer| {
            writer.put(format_args!("const {part}={v}[{index}];"));
            writer.visit(item, part, scope.deeper());
        });
        self.put(format_args!("}}"));
    }

    /// Counts the elements that pass a node; the name of the count.
    pub(super) fn count(&mut self, item: NodeId, v: Local, scope: Scope) -> String {
        let (count, index, label, part) = (self.mark(), self.mark(), self.mark(), self.local());
        self.put(format_args!(
            "let {count}=0;for(let {index}=0;{index}<{v}.length;{index}++){label}:{{"
        ));
        let inner = scope.checking(Jump::Break(label)).deeper();
        self.charged(|writer| {
            writer.put(format_args!("const {part}={v}[{index}];"));
            writer.visit(item, part, inner);
        });
        self.put(format_args!("{count}++;}}"));
        count.to_string()
    }
}
