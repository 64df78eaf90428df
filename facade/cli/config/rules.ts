// Access rules of a configuration, by pattern.

import { accessRules, type ImportedAccessControl } from "../../imported-access.js";
import { type IdPattern, patternOf } from "../../interop/pattern.js";
import type { AccessControl } from "../../types.js";
import type { Expander } from "./expand.js";

interface Rule {
  readonly pattern: string;
  readonly expression: IdPattern;
  readonly rules: AccessControl;
}

/** Rules by id or pattern. Of several that fit an operation, the last one counts. */
export class RulesByPattern {
  readonly #rules: readonly Rule[];
  readonly #used = new Set<string>();

  constructor(given: Record<string, unknown>, path: string, expander: Expander) {
    this.#rules = Object.entries(given).map(([pattern, rules]) => {
      const checked = accessRules(
        expander.value(rules, `access.${pattern}`),
        `${path}[${JSON.stringify(pattern)}]`,
      );
      return { pattern, expression: patternOf(pattern), rules: checked as AccessControl };
    });
  }

  /** The rules of a source, with these over them. */
  over(given: ImportedAccessControl | undefined): ImportedAccessControl | undefined {
    if (this.#rules.length === 0) return given;
    return (spec) => {
      const id = `${spec.namespace}.${spec.name}`;
      const fitting = this.#rules.filter(({ expression }) => expression.test(id));
      for (const { pattern } of fitting) this.#used.add(pattern);
      const last = fitting.at(-1);
      if (last !== undefined) return structuredClone(last.rules);
      return typeof given === "function" ? given(spec) : (given ?? spec.accessControl);
    };
  }

  /** Patterns that have fitted no operation so far. They are probably misspelt, and protect nothing. */
  unused(): string[] {
    return this.#rules.map(({ pattern }) => pattern).filter((pattern) => !this.#used.has(pattern));
  }
}
