//! The text under construction: functions, locals, labels, jumps, and the tables of arguments.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::hash::Hash;

use super::leaf::INVALID;
use super::plan::{DEEPEST_NESTING, Plan};
use super::{Emitted, MAX_TEXT};
use crate::bounds::{EMITTED_CALLS, EMITTED_WORK, MAX_VALUE_DEPTH};
use crate::ir::{ConstId, FormatId, NodeId, PatternId, Program};

/// What a function decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mode {
    /// Whether the value passes: `true` or `false`.
    Check,
    /// Whether it passes and normalisation changes nothing: 1 yes, 0 it does not pass, 2 it passes
    /// but is (or may be) changed.
    Exact,
    /// As `Exact`, but undeclared properties of the value itself are checked elsewhere: the
    /// node is one of several that declare the same object.
    Part,
}

impl Mode {
    /// The given mode where shapes matter at all.
    fn or_check(self, shaping: Self) -> Self {
        if self == Self::Check { self } else { shaping }
    }
}

/// A variable that holds a value: `v1`, `v2`, ...
#[derive(Clone, Copy, Debug)]
pub(super) struct Local(u32);

impl fmt::Display for Local {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "v{}", self.0)
    }
}

/// A label or another generated name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(u32);

impl fmt::Display for Mark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "m{}", self.0)
    }
}

/// What to do at some outcome: a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Jump {
    /// Leave the function with `false`.
    ReturnFalse,
    /// Leave the function with a number.
    Return(u8),
    /// Leave a labelled block.
    Break(Mark),
    /// Remember it and go on.
    Set(Mark),
}

impl fmt::Display for Jump {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReturnFalse => out.write_str("return false;"),
            Self::Return(code) => write!(out, "return {code};"),
            Self::Break(label) => write!(out, "break {label};"),
            Self::Set(flag) => write!(out, "{flag}=true;"),
        }
    }
}

/// Where the text being written stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    /// What happens when the value does not pass.
    pub(super) fail: Jump,
    /// What happens when it passes but normalisation may change it.
    pub(super) inexact: Jump,
    /// What is decided here.
    pub(super) mode: Mode,
    /// How many containers deep the value is, counted from the function's own value.
    pub(super) depth: u32,
}

impl Scope {
    /// The scope of a property or element, whose undeclared properties are its own business.
    pub(super) fn deeper(self) -> Self {
        Self {
            mode: self.mode.or_check(Mode::Exact),
            depth: self.depth.saturating_add(1),
            ..self
        }
    }

    /// The scope of one of several schemas of the same value.
    pub(super) fn member(self) -> Self {
        Self {
            mode: self.mode.or_check(Mode::Part),
            ..self
        }
    }

    /// The same place, where only the check matters.
    pub(super) fn check(self) -> Self {
        Self {
            mode: Mode::Check,
            ..self
        }
    }

    /// That, with another way to fail.
    pub(super) fn checking(self, fail: Jump) -> Self {
        self.check().failing(fail)
    }

    /// The same place with another way to fail.
    pub(super) fn failing(self, fail: Jump) -> Self {
        Self { fail, ..self }
    }
}

/// A table of arguments: each entry once, in the order of first use.
#[derive(Debug)]
struct Table<T>(Vec<T>, HashMap<T, usize>);

impl<T: Copy + Eq + Hash> Table<T> {
    fn new() -> Self {
        Self(Vec::new(), HashMap::new())
    }

    fn position(&mut self, entry: T) -> usize {
        let next = self.0.len();
        let position = *self.1.entry(entry).or_insert(next);
        if position == next {
            self.0.push(entry);
        }
        position
    }
}

/// Room for the text of a schema of ordinary size, so that it need not grow on the way.
const INITIAL_TEXT: usize = 4096;

/// How many bytes of text are run through for one unit of the emitted code's work.
const BYTES_PER_UNIT: usize = 32;

/// The statement that pays, before and after the price.
const PAY: (&str, &str) = ("if((work-=0x", ")<0)throw env.tooMuchWork();");

/// Writes the functions of one program.
pub(super) struct Writer<'p> {
    pub(super) program: &'p Program,
    pub(super) plan: &'p Plan,
    text: String,
    /// How much of the text is in blocks that pay for themselves.
    paid: usize,
    functions: HashMap<(NodeId, Mode), usize>,
    waiting: Vec<(NodeId, Mode, usize)>,
    names: u32,
    patterns: Table<PatternId>,
    formats: Table<FormatId>,
    kinds: Table<NodeId>,
    consts: Table<ConstId>,
    walks: Table<NodeId>,
}

impl<'p> Writer<'p> {
    pub(super) fn new(program: &'p Program, plan: &'p Plan) -> Self {
        Self {
            program,
            plan,
            text: String::with_capacity(INITIAL_TEXT),
            paid: 0,
            functions: HashMap::new(),
            waiting: Vec::new(),
            names: 0,
            patterns: Table::new(),
            formats: Table::new(),
            kinds: Table::new(),
            consts: Table::new(),
            walks: Table::new(),
        }
    }

    /// Writes everything that `root` needs; nothing when it gets too long.
    pub(super) fn program(mut self, root: NodeId, mode: Mode) -> Option<Emitted> {
        let mode = if self.plan.facts(root).plain {
            Mode::Check
        } else {
            mode
        };
        self.function(root, mode);
        while let Some((node, mode, number)) = self.waiting.pop() {
            self.write_function(node, mode, number);
            if self.is_too_long() {
                return None;
            }
        }
        let mut body = self.prelude();
        body.push_str(&self.text);
        body.push_str(&self.entry(mode));
        if body.len() > MAX_TEXT {
            return None;
        }
        Some(Emitted {
            body,
            patterns: self.patterns.0,
            formats: self.formats.0,
            kinds: self.kinds.0,
            consts: self.consts.0,
            walks: self.walks.0,
        })
    }

    /// Writing goes on in small pieces; each looks here first, so that the text cannot run away.
    pub(super) fn is_too_long(&self) -> bool {
        self.text.len() > MAX_TEXT
    }

    /// Appends text.
    pub(super) fn put(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a `String` cannot fail.
        let _ = self.text.write_fmt(text);
    }

    /// Writes a block that pays when it is entered, where the schema may come from outside. Running
    /// through a text once costs no more than in proportion to its length; blocks inside, and
    /// functions that it calls, pay for themselves.
    pub(super) fn charged(&mut self, write: impl FnOnce(&mut Self)) {
        if !self.plan.charges {
            return write(self);
        }
        let (start, paid) = (self.text.len(), self.paid);
        self.put(format_args!("{}00000{}", PAY.0, PAY.1));
        write(self);
        let length = self.text.len() - start;
        let own = length - (self.paid - paid);
        self.paid = paid + length;
        let price = format!("{:05x}", (own / BYTES_PER_UNIT).min(0xF_FFFF));
        let place = start + PAY.0.len();
        self.text.replace_range(place..place + price.len(), &price);
    }

    /// A new variable for a value.
    pub(super) fn local(&mut self) -> Local {
        self.names += 1;
        Local(self.names)
    }

    /// A new name for anything else.
    pub(super) fn mark(&mut self) -> Mark {
        self.names += 1;
        Mark(self.names)
    }

    /// The call of a node's function with a value.
    pub(super) fn call(&mut self, node: NodeId, mode: Mode, value: Local, depth: u32) -> String {
        let number = self.function(node, mode);
        if self.plan.tracks_depth {
            format!("f{number}({value},d+{depth})")
        } else {
            format!("f{number}({value})")
        }
    }

    /// An expression for the `RegExp` of a pattern.
    pub(super) fn pattern(&mut self, id: PatternId) -> String {
        format!("P{}", self.patterns.position(id))
    }

    /// An expression for the function of a format.
    pub(super) fn format(&mut self, id: FormatId) -> String {
        format!("F{}", self.formats.position(id))
    }

    /// An expression for the function of a custom kind.
    pub(super) fn kind(&mut self, id: NodeId) -> String {
        format!("K{}", self.kinds.position(id))
    }

    /// An expression for a constant that has no literal.
    pub(super) fn constant(&mut self, id: ConstId) -> String {
        format!("C{}", self.consts.position(id))
    }

    /// The call that leaves a node to the native walk.
    pub(super) fn walk(&mut self, node: NodeId, value: Local) -> String {
        self.walks.position(node);
        format!("walked({},{value})", node.0)
    }

    /// The names of an object's properties: those that can be listed, or all.
    pub(super) fn keys_of(&self, value: Local) -> String {
        if self.plan.charges {
            format!("keysOf({value})")
        } else {
            format!("Object.keys({value})")
        }
    }

    pub(super) fn names_of(&self, value: Local) -> String {
        if self.plan.charges {
            format!("namesOf({value})")
        } else {
            format!("Object.getOwnPropertyNames({value})")
        }
    }

    fn function(&mut self, node: NodeId, mode: Mode) -> usize {
        let next = self.functions.len();
        let number = *self.functions.entry((node, mode)).or_insert(next);
        if number == next {
            self.waiting.push((node, mode, number));
        }
        number
    }

    /// A function expression in parentheses: engines take that as a sign that it is called soon and
    /// compile it at once, where a declaration is read twice. That saves a third of the time.
    fn write_function(&mut self, node: NodeId, mode: Mode, number: usize) {
        let value = self.local();
        if self.plan.tracks_depth {
            // One function descends at most `DEEPEST_NESTING` levels before the next one looks.
            let deepest = MAX_VALUE_DEPTH.saturating_sub(DEEPEST_NESTING + 4);
            self.put(format_args!(
                "const f{number}=(function({value},d){{if(d>{deepest})throw env.giveUp();"
            ));
        } else {
            self.put(format_args!("const f{number}=(function({value}){{"));
        }
        if self.plan.counts_calls {
            self.put(format_args!("if(--work<0)throw env.giveUp();"));
        }
        let (fail, inexact, success) = match mode {
            Mode::Check => (Jump::ReturnFalse, Jump::ReturnFalse, "true"),
            Mode::Exact | Mode::Part => (Jump::Return(0), Jump::Return(2), "1"),
        };
        let scope = Scope {
            fail,
            inexact,
            mode,
            depth: 0,
        };
        self.charged(|writer| writer.inline(node, value, scope));
        self.put(format_args!("return {success};}});\n"));
    }

    /// Declarations that come before the functions.
    fn prelude(&self) -> String {
        let mut text = String::from("\"use strict\";\n");
        for (letter, member, count) in [
            ('P', "patterns", self.patterns.0.len()),
            ('F', "formats", self.formats.0.len()),
            ('K', "kinds", self.kinds.0.len()),
            ('C', "consts", self.consts.0.len()),
        ] {
            for position in 0..count {
                let _ = writeln!(text, "const {letter}{position}=env.{member}[{position}];");
            }
        }
        if self.plan.counts_calls || self.plan.charges {
            text.push_str("let work=0;\n");
        }
        // A helper is named only by code written here, so its name in the text means a use.
        let used: Vec<&str> = HELPERS
            .iter()
            .filter(|helper| self.text.contains(helper.call))
            .map(|helper| {
                if self.plan.charges {
                    helper.charged
                } else {
                    helper.free
                }
            })
            .collect();
        if used.iter().any(|helper| helper.contains("paid(")) {
            text.push_str(if self.plan.charges {
                PAID.charged
            } else {
                PAID.free
            });
        }
        text.extend(used);
        text
    }

    /// The statement that gives the function to the outside.
    fn entry(&self, mode: Mode) -> String {
        let call = if self.plan.tracks_depth {
            "f0(value,0)"
        } else {
            "f0(value)"
        };
        let verdict = if mode == Mode::Check { "" } else { "===1" };
        let can_be_invalid = !self.walks.0.is_empty()
            || !self.kinds.0.is_empty()
            || self.text.contains(INVALID)
            || self.text.contains("isUnique(");
        if mode == Mode::Check
            && !self.plan.counts_calls
            && !self.plan.charges
            && !self.plan.tracks_depth
            && !can_be_invalid
        {
            return "return f0;".to_owned();
        }
        let start = match (self.plan.charges, self.plan.counts_calls) {
            (true, _) => format!("work={EMITTED_WORK};"),
            (false, true) => format!("work={EMITTED_CALLS};"),
            (false, false) => String::new(),
        };
        if can_be_invalid {
            format!(
                "return (value)=>{{{start}try{{return {call}{verdict};}}\
                 catch(error){{if(error===env.invalid)return false;throw error;}}}};"
            )
        } else {
            format!("return (value)=>{{{start}return {call}{verdict};}};")
        }
    }
}

/// A helper function of the emitted code, for schemas that may come from outside and for others.
struct Helper {
    call: &'static str,
    charged: &'static str,
    free: &'static str,
}

impl Helper {
    const fn new(call: &'static str, charged: &'static str, free: &'static str) -> Self {
        Self {
            call,
            charged,
            free,
        }
    }

    const fn same(call: &'static str, text: &'static str) -> Self {
        Self::new(call, text, text)
    }
}

/// What the native side answers is also what it cost: negative for a no, nothing where TypeBox throws. Only other
/// helpers use it.
const PAID: Helper = Helper::new(
    "paid(",
    "function paid(cost){work-=cost<0?-cost:cost;if(work<0)throw env.tooMuchWork();\
     if(cost===0)throw env.invalid;return cost>0;}\n",
    "function paid(cost){if(cost===0)throw env.invalid;return cost>0;}\n",
);

const HELPERS: [Helper; 16] = [
    Helper::same("invalid()", "function invalid(){throw env.invalid;}\n"),
    // Of another realm (a `vm` context, a frame) they are of another class.
    Helper::same(
        "isDate(",
        "function isDate(value){return value instanceof Date||env.isDate(value);}\n",
    ),
    Helper::same(
        "isBytes(",
        "function isBytes(value){return value instanceof Uint8Array||env.isBytes(value);}\n",
    ),
    Helper::same(
        "isPromise(",
        "function isPromise(value){return value instanceof Promise||env.isPromise(value);}\n",
    ),
    // An object can claim to be a Date and have no time.
    Helper::same(
        "timeOf(",
        "const getTime=Date.prototype.getTime;\
         function timeOf(date){try{return getTime.call(date);}catch{return 0/0;}}\n",
    ),
    Helper::new(
        "codePoints(",
        "function codePoints(text){if((work-=text.length)<0)throw env.tooMuchWork();\
         let count=text.length;for(let i=0;i<text.length-1;i++)\
         if((text.charCodeAt(i)&64512)===55296&&(text.charCodeAt(i+1)&64512)===56320){count--;i++;}\
         return count;}\n",
        "function codePoints(text){let count=text.length;for(let i=0;i<text.length-1;i++)\
         if((text.charCodeAt(i)&64512)===55296&&(text.charCodeAt(i+1)&64512)===56320){count--;i++;}\
         return count;}\n",
    ),
    Helper::new(
        "walked(",
        "function walked(node,value){return paid(env.walk(node,value,work));}\n",
        "function walked(node,value){return paid(env.walk(node,value));}\n",
    ),
    Helper::new(
        "matches(",
        "function matches(pattern,text){return paid(env.test(pattern,text,work));}\n",
        "function matches(pattern,text){return paid(env.test(pattern,text));}\n",
    ),
    Helper::new(
        "isFormat(",
        "function isFormat(format,text){return paid(format(text,work));}\n",
        "function isFormat(format,text){return format(text)>0;}\n",
    ),
    Helper::new(
        "isUnique(",
        "function isUnique(value){return paid(env.unique(value,work));}\n",
        "function isUnique(value){return paid(env.unique(value));}\n",
    ),
    Helper::new(
        "isDistinct(",
        "function isDistinct(value){return paid(env.distinct(value,work));}\n",
        "function isDistinct(value){return paid(env.distinct(value));}\n",
    ),
    Helper::new(
        "isEqual(",
        "function isEqual(value,other){return paid(env.equal(value,other,work));}\n",
        "function isEqual(value,other){return paid(env.equal(value,other));}\n",
    ),
    Helper::new(
        "isMultiple(",
        "function isMultiple(value,other){if((work-=800)<0)throw env.tooMuchWork();\
         return env.multiple(value,other);}\n",
        "function isMultiple(value,other){return env.multiple(value,other);}\n",
    ),
    // A pattern of a price that is known, on JavaScript's own engine.
    Helper::new(
        "regexp(",
        "function regexp(pattern,text,once,each){\
         if((work-=once+each*text.length)<0)throw env.tooMuchWork();return pattern.test(text);}\n",
        "",
    ),
    // Listing the names takes time before the first of them is looked at.
    Helper::new(
        "keysOf(",
        "function keysOf(value){const keys=Object.keys(value);\
         if((work-=16*keys.length)<0)throw env.tooMuchWork();return keys;}\n",
        "",
    ),
    Helper::new(
        "namesOf(",
        "function namesOf(value){const keys=Object.getOwnPropertyNames(value);\
         if((work-=16*keys.length)<0)throw env.tooMuchWork();return keys;}\n",
        "",
    ),
];
