//! Reads emitted text as JavaScript does, and accounts for everything in it.
//!
//! The text must parse, be free of early errors, name nothing from outside but `env` and a few globals, and
//! consist of only those constructs that the emitter uses. Every string in it must be one that the emitter
//! itself writes, a property name or a constant of the schema, whole.

use std::collections::HashSet;

use operations_schema::Program;
use operations_schema::emit::{Emitted, MAX_TEXT};
use operations_schema::ir::{Const, Shape};
use oxc_allocator::Allocator;
use oxc_ast::AstKind;
use oxc_ast::ast::{Argument, CallExpression, Expression};
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;

/// What the text may refer to without declaring it.
const GLOBALS: [&str; 9] = [
    "Array",
    "Date",
    "Number",
    "Object",
    "Promise",
    "Symbol",
    "Uint8Array",
    "env",
    "undefined",
];

/// Names that the text declares, beside the numbered ones.
const DECLARED: [&str; 34] = [
    "codePoints",
    "cost",
    "count",
    "d",
    "date",
    "each",
    "error",
    "format",
    "getTime",
    "i",
    "invalid",
    "isBytes",
    "isDate",
    "isDistinct",
    "isEqual",
    "isFormat",
    "isMultiple",
    "isPromise",
    "isUnique",
    "keys",
    "keysOf",
    "matches",
    "namesOf",
    "node",
    "once",
    "other",
    "paid",
    "pattern",
    "regexp",
    "text",
    "timeOf",
    "value",
    "walked",
    "work",
];

/// Names behind a dot.
const MEMBERS: [&str; 31] = [
    "asyncIterator",
    "call",
    "charCodeAt",
    "consts",
    "distinct",
    "equal",
    "formats",
    "getOwnPropertyNames",
    "getTime",
    "giveUp",
    "hasOwn",
    "invalid",
    "isArray",
    "isBytes",
    "isDate",
    "isFinite",
    "isInteger",
    "isPromise",
    "isSafeInteger",
    "iterator",
    "keys",
    "kinds",
    "lastIndex",
    "length",
    "multiple",
    "patterns",
    "prototype",
    "test",
    "tooMuchWork",
    "unique",
    "walk",
];

/// Strings that the emitter writes by itself.
const STRINGS: [&str; 8] = [
    "bigint",
    "boolean",
    "function",
    "number",
    "object",
    "string",
    "symbol",
    "undefined",
];

/// Fails unless the text is as described above.
pub fn audit(program: &Program, emitted: &Emitted) {
    let body = &emitted.body;
    assert!(body.len() <= MAX_TEXT, "{} bytes of text", body.len());
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, body, SourceType::script())
        .with_options(ParseOptions {
            allow_return_outside_function: true,
            ..ParseOptions::default()
        })
        .parse();
    assert!(
        !parsed.panicked && parsed.diagnostics.is_empty(),
        "{:?} in {body}",
        parsed.diagnostics
    );
    assert!(parsed.program.comments.is_empty(), "a comment in {body}");
    let built = SemanticBuilder::new()
        .with_check_syntax_error(true)
        .with_build_nodes(true)
        .build(&parsed.program);
    assert!(
        built.diagnostics.is_empty(),
        "{:?} in {body}",
        built.diagnostics
    );
    for name in built.semantic.scoping().root_unresolved_references().keys() {
        assert!(
            GLOBALS.contains(&name.as_str()),
            "{name} is not declared in {body}"
        );
    }
    let auditor = Auditor::new(program, emitted);
    for node in built.semantic.nodes().iter() {
        if let Err(problem) = auditor.node(node.kind()) {
            panic!("{problem} in {body}");
        }
    }
    tables_fit(program, emitted);
}

/// Fails unless what the text needs is there.
fn tables_fit(program: &Program, emitted: &Emitted) {
    for id in &emitted.patterns {
        assert!(program.pattern(*id).is_some(), "an unknown pattern");
    }
    for id in &emitted.formats {
        assert!(program.format(*id).is_some(), "an unknown format");
    }
    for id in &emitted.kinds {
        assert!(
            matches!(program.shape(*id), Shape::Kind(_)),
            "a node that is no custom kind"
        );
    }
    for id in &emitted.walks {
        assert!(id.index() < program.nodes().len(), "an unknown node");
    }
}

struct Auditor<'p> {
    program: &'p Program,
    emitted: &'p Emitted,
    strings: HashSet<&'p str>,
}

impl<'p> Auditor<'p> {
    fn new(program: &'p Program, emitted: &'p Emitted) -> Self {
        let names = program.keys().iter().map(|key| &*key.text);
        let constants = program.consts().iter().filter_map(Const::as_str);
        Self {
            program,
            emitted,
            strings: STRINGS.into_iter().chain(names).chain(constants).collect(),
        }
    }

    /// Everything that the emitter writes is on this list; a name or a constant that escaped from its
    /// quotes would hardly be.
    fn node(&self, kind: AstKind<'_>) -> Result<(), String> {
        let fine = match kind {
            AstKind::IdentifierReference(it) => is_name(&it.name),
            AstKind::BindingIdentifier(it) => is_name(&it.name),
            AstKind::LabelIdentifier(it) => is_generated(&it.name),
            AstKind::IdentifierName(it) => MEMBERS.contains(&it.name.as_str()),
            AstKind::StringLiteral(it) => {
                it.value.as_str() == "use strict" || self.strings.contains(it.value.as_str())
            }
            AstKind::Directive(it) => it.directive.as_str() == "use strict",
            AstKind::BigIntLiteral(it) => it.value.as_str() == "0",
            AstKind::CallExpression(it) => return self.call(it),
            AstKind::StaticMemberExpression(it) => !it.optional,
            AstKind::ComputedMemberExpression(it) => !it.optional,
            AstKind::Function(it) => !it.r#async && !it.generator,
            AstKind::Program(_)
            | AstKind::ArrowFunctionExpression(_)
            | AstKind::AssignmentExpression(_)
            | AstKind::BinaryExpression(_)
            | AstKind::BlockStatement(_)
            | AstKind::BooleanLiteral(_)
            | AstKind::BreakStatement(_)
            | AstKind::CatchClause(_)
            | AstKind::CatchParameter(_)
            | AstKind::ConditionalExpression(_)
            | AstKind::EmptyStatement(_)
            | AstKind::ExpressionStatement(_)
            | AstKind::ForInStatement(_)
            | AstKind::ForOfStatement(_)
            | AstKind::ForStatement(_)
            | AstKind::FormalParameter(_)
            | AstKind::FormalParameters(_)
            | AstKind::FunctionBody(_)
            | AstKind::IfStatement(_)
            | AstKind::LabeledStatement(_)
            | AstKind::LogicalExpression(_)
            | AstKind::NullLiteral(_)
            | AstKind::NumericLiteral(_)
            | AstKind::ParenthesizedExpression(_)
            | AstKind::ReturnStatement(_)
            | AstKind::SequenceExpression(_)
            | AstKind::ThrowStatement(_)
            | AstKind::TryStatement(_)
            | AstKind::UnaryExpression(_)
            | AstKind::UpdateExpression(_)
            | AstKind::VariableDeclaration(_)
            | AstKind::VariableDeclarator(_) => true,
            _ => false,
        };
        if fine {
            Ok(())
        } else {
            Err(format!("unexpected {kind:?}"))
        }
    }

    /// Calls go to generated functions and to helpers; the ids that go out to the host are known.
    fn call(&self, call: &CallExpression<'_>) -> Result<(), String> {
        let Expression::Identifier(callee) = &call.callee else {
            return match &call.callee {
                Expression::StaticMemberExpression(_) => Ok(()),
                other => Err(format!("a call of {other:?}")),
            };
        };
        let id = match call.arguments.first() {
            Some(Argument::NumericLiteral(number)) => Some(number.value),
            _ => None,
        };
        let is = |known: u32| id == Some(f64::from(known));
        let known = match callee.name.as_str() {
            "walked" => self.emitted.walks.iter().any(|node| is(node.0)),
            "matches" => (0..)
                .zip(self.program.patterns())
                .any(|(known, _)| is(known)),
            _ => true,
        };
        if known {
            Ok(())
        } else {
            Err(format!("the host is asked for {id:?}"))
        }
    }
}

fn is_name(name: &str) -> bool {
    GLOBALS.contains(&name) || DECLARED.contains(&name) || is_generated(name)
}

/// A letter and a number.
fn is_generated(name: &str) -> bool {
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|letter| "PFKCfvm".contains(letter))
        && !characters.as_str().is_empty()
        && characters.all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::audit;
    use operations_schema::emit::{Emitted, check_source};
    use operations_schema::{CompileOptions, Program, Source, compile};
    use serde_json::json;

    fn emitted() -> Option<(Program, Emitted)> {
        let schema =
            json!({ "properties": { "name": { "const": "value \"1\"" } }, "required": ["name"] });
        let source = Source::try_from(&schema).ok()?;
        let program = compile(&source, &CompileOptions::default()).ok()?;
        let emitted = check_source(&program).ok()?;
        Some((program, emitted))
    }

    #[test]
    fn what_the_emitter_writes_is_accepted() {
        let found = emitted();
        assert!(found.is_some());
        if let Some((program, emitted)) = found {
            audit(&program, &emitted);
        }
    }

    /// The auditor would notice each of these.
    #[test]
    fn code_that_the_emitter_never_writes_is_refused() {
        const START: &str = "return (value)=>{";
        for (before, after) in [
            (START, "process.exit();return (value)=>{"),
            (START, "/* */return (value)=>{"),
            (START, "`1`;return (value)=>{"),
            (START, "({\"name\":1});return (value)=>{"),
            (START, "env.process();return (value)=>{"),
            (START, "walked(7,f0);return (value)=>{"),
            (START, "f1();return (value)=>{"),
            (START, "new Date();return (value)=>{"),
            (START, "break m7;return (value)=>{"),
            (START, "}return (value)=>{"),
            ("\"name\"", "\"nam\""),
            ("\"name\"", "/name/"),
        ] {
            let found = emitted();
            assert!(found.is_some());
            let refused = catch_unwind(|| {
                if let Some((program, mut emitted)) = found {
                    assert!(emitted.body.contains(before), "nothing to change");
                    emitted.body = emitted.body.replace(before, after);
                    audit(&program, &emitted);
                }
            });
            let refusal = refused.expect_err(after);
            let message = refusal.downcast_ref::<String>().map_or("", |text| text);
            assert!(message.contains(" in "), "{after}: {message}");
        }
    }
}
