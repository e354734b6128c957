/** All rules of lint, in the order of their numbers. */

import { closestNames } from "../closest.ts";
import * as classes from "./classes.ts";
import * as expressions from "./expressions.ts";
import * as functions from "./functions.ts";
import * as graph from "./graph.ts";
import * as loading from "./loading.ts";
import * as models from "./models.ts";
import * as project from "./project.ts";
import * as relations from "./relations.ts";
import * as resolvers from "./resolvers.ts";
import type { Rule } from "./rule.ts";
import * as sinks from "./sinks.ts";
import * as sqlFiles from "./sql-files.ts";
import * as streams from "./streams.ts";
import * as windows from "./windows.ts";

const MODULES = [loading, classes, relations, expressions, models, windows, resolvers, sqlFiles, graph, project, streams, sinks, functions];

/** The rules by number, ascending. */
export const RULES: readonly Rule[] = MODULES.flatMap((module): Rule[] => Object.values(module)).sort((a, b) => a.code - b.code);

const BY_CODE = new Map(RULES.map((rule) => [rule.code, rule]));
const BY_ID = new Map(RULES.map((rule) => [rule.id, rule]));

/** First lines of the Python files of examples. */
export const EXAMPLE_IMPORTS = `from datetime import datetime

import svc.functions as F
from svc import Evaluation, Monitor, NamedQuery, Now, ScheduledQuery, SQLiteSource, offline, online
from svc.features import DataFrame, Features, FeatureTime, Primary, Vector, _, feature, features, has_many, has_one
from svc.streams import Windowed, group_by_windowed, windowed

`;

/** The rule of a finding; undefined for a number that this version does not know. */
export function ruleOf({ code }: { readonly code: number }): Rule | undefined {
  return BY_CODE.get(code);
}

/**
 * The rule that a person names by its number (`113`, `E113`, `Error[113]`) or id; undefined when
 * there is none.
 */
export function findRule(named: string): Rule | undefined {
  const [code] = /\d+/.exec(named.replace(/^(?:Error|Warning|E|W)/i, "")) ?? [];
  return BY_ID.get(named.trim().toLowerCase()) ?? (code === undefined ? undefined : BY_CODE.get(Number(code)));
}

/** At most three rules that may have been meant: by a close id, else by the nearest numbers. */
export function nearRules(named: string): readonly Rule[] {
  const code = Number(/\d+/.exec(named)?.[0] ?? Number.NaN);
  if (Number.isNaN(code)) return closestNames(named, BY_ID.keys()).flatMap((id) => BY_ID.get(id) ?? []);
  const distance = (rule: Rule) => Math.abs(rule.code - code);
  return RULES.toSorted((a, b) => distance(a) - distance(b)).slice(0, 3);
}
