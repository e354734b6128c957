/**
 * Rule 146: values of decorators and of `feature(...)` that are literals and wrong. What is
 * computed is left alone.
 */

import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import { SCHEDULE_GRAMMAR, scheduleProblem } from "../../domain/cron.ts";
import { DURATION_GRAMMAR, parseDuration } from "../../domain/duration.ts";
import { finding } from "../../domain/finding.ts";
import { BAD_VALUE } from "../../domain/rules/resolvers.ts";
import { ENVIRONMENT_NAME } from "../../domain/sql/settings.ts";
import type { Arguments, Expression } from "./python-expression.ts";
import type { PythonModule } from "./python-module.ts";
import type { Spans } from "./spans.ts";

/** The kind of definition that has the options. */
export type OptionOwner = "class" | "feature" | "resolver";

/** A check of a literal: its problem in words; undefined when it is right, or no literal. */
type Check = (value: Expression) => string | undefined;

/** Options that say which fresh values are stored where. */
const STORING: Readonly<Record<string, Check>> = {
  store_online: flag,
  store_offline: flag,
  cache_nulls: flagOr("evict_nulls"),
  cache_defaults: flagOr("evict_defaults"),
};

const CHECKS: Readonly<Record<OptionOwner, Readonly<Record<string, Check>>>> = {
  class: { max_staleness: staleness, tags: texts, owner: text, name: text, ...STORING },
  feature: {
    max_staleness: staleness,
    tags: texts,
    owner: text,
    name: text,
    description: text,
    primary: flag,
    deprecated: flag,
    strict: flag,
    ...STORING,
  },
  resolver: { timeout, cron, environment: environments, tags: texts, owner: text, name: text, translate: flag },
};

/** Characters of a value that a message shows. */
const SHOWN_VALUE = 60;

/** Findings about the keywords of a call. */
export function optionFindings(module: PythonModule, spans: Spans, owner: string, kind: OptionOwner, call: Arguments): Diagnostic[] {
  return call.keywords.flatMap((keyword) => {
    const problem = CHECKS[kind][keyword.name]?.(keyword.value);
    if (!problem) return [];
    const { from, to } = keyword.value;
    const span = spans.of(module, from, to);
    const written = module.text.slice(from, Math.min(to, from + SHOWN_VALUE));
    return [finding(BAD_VALUE.written({ option: keyword.name, owner, written, problem }), span)];
  });
}

/** The text of a literal; null for a literal of another type, undefined when it is no literal. */
function literal(value: Expression): string | null | undefined {
  if (value.kind === "string") return value.value;
  return value.kind === "number" || value.kind === "bool" || value.kind === "list" ? null : undefined;
}

function staleness(value: Expression): string | undefined {
  const found = literal(value);
  if (found === undefined) return undefined;
  return found === null || parseDuration(found) === undefined ? `write ${DURATION_GRAMMAR}, or infinity` : undefined;
}

function timeout(value: Expression): string | undefined {
  const found = literal(value);
  if (found === undefined) return undefined;
  const ms = found === null ? undefined : parseDuration(found);
  if (ms === undefined) return "write a duration such as 200ms, 5s or 1m30s";
  return ms > 0 && Number.isFinite(ms) ? undefined : "a resolver needs a time limit above zero that ends, such as 200ms";
}

function cron(value: Expression): string | undefined {
  const found = literal(value);
  if (found === undefined) return undefined;
  if (found === null) return `write ${SCHEDULE_GRAMMAR}`;
  const problem = scheduleProblem(found);
  return problem && `${problem}; write ${SCHEDULE_GRAMMAR}`;
}

function environments(value: Expression): string | undefined {
  const items = value.kind === "list" ? value.items : [value];
  for (const item of items) {
    const found = literal(item);
    if (found === undefined) continue;
    if (found === null || !ENVIRONMENT_NAME.test(found))
      return "write an environment's name, or a list of them: letters, digits, '.', '_' and '-'";
  }
  return value.kind === "list" && items.length === 0 ? "write an environment's name, or leave it out for all" : undefined;
}

function texts(value: Expression): string | undefined {
  const items = value.kind === "list" ? value.items : [value];
  for (const item of items) {
    const found = literal(item);
    if (found !== undefined && (found === null || found.trim() === "")) return "write a list of texts such as ['team:risk', 'pii']";
  }
  return undefined;
}

function text(value: Expression): string | undefined {
  const found = literal(value);
  return found !== undefined && (found === null || found.trim() === "") ? "write a text" : undefined;
}

/** A flag, or one word. */
function flagOr(word: string): Check {
  return (value) => {
    if (value.kind === "string" && value.value === word) return undefined;
    return flag(value) && `write True, False or "${word}"`;
  };
}

function flag(value: Expression): string | undefined {
  return value.kind === "string" || value.kind === "number" || value.kind === "list" ? "write True or False" : undefined;
}
