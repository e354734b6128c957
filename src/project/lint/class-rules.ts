/** Rules about feature classes: 110, 111, 112, 113, 117, 119, 124, 125, 142, 146. */

import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import { closestNames, didYouMean } from "../../domain/closest.ts";
import { finding } from "../../domain/finding.ts";
import { readableName } from "../../domain/name.ts";
import {
  ANNOTATED_TWICE,
  NAMESPACE_IN_TWO_FILES,
  NO_PRIMARY_KEY,
  REDEFINED,
  TWO_FEATURE_TIMES,
  TWO_PRIMARY_KEYS,
} from "../../domain/rules/classes.ts";
import { PARTLY_QUOTED, UNDEFINED_NAME } from "../../domain/rules/relations.ts";
import { UNKNOWN_FEATURE } from "../../domain/rules/resolvers.ts";
import { type Core, readAnnotation } from "./annotation.ts";
import { optionFindings } from "./option-rules.ts";
import type { ClassModel, FieldModel, ProjectModel } from "./project-model.ts";
import type { Expression } from "./python-expression.ts";
import type { PythonModule } from "./python-module.ts";
import type { Spans } from "./spans.ts";

/** Findings about every feature class by itself, and about their namespaces against each other. */
export function classFindings(model: ProjectModel, spans: Spans): Diagnostic[] {
  const current = model.classes.filter((item) => !isReplaced(item));
  return [
    ...redefinitions(model, spans),
    ...namespaceFindings(current, spans),
    ...current.flatMap((item) => [...keyFindings(model, item, spans), ...fieldFindings(model, item, spans)]),
  ];
}

/** Whether a later class of the same file has its name. */
function isReplaced(item: ClassModel): boolean {
  const same = item.module.definitions.filter((other) => other.name === item.definition.name);
  return same.at(-1) !== item.definition;
}

/** Rule 112: feature classes and resolvers that a later definition of the file replaces. */
function redefinitions(model: ProjectModel, spans: Spans): Diagnostic[] {
  return [...model.classes, ...model.resolvers].flatMap(({ module, definition }) => {
    if (definition.conditional) return [];
    const same = module.definitions.filter((other) => other.name === definition.name && !other.conditional);
    const next = same[same.indexOf(definition) + 1];
    if (!next || next.kind !== definition.kind) return [];
    const what = definition.kind === "class" ? "feature class" : "resolver";
    return [
      finding(REDEFINED.again({ what, name: definition.name }), spans.of(module, next.from, next.to), {
        hint: "Rename one of them, or take one out.",
        related: [{ span: spans.of(module, definition.from, definition.to), message: "first defined here" }],
      }),
    ];
  });
}

/** Rule 111: classes of one namespace. */
function namespaceFindings(classes: readonly ClassModel[], spans: Spans): Diagnostic[] {
  const first = new Map<string, ClassModel>();
  return classes.flatMap((item) => {
    if (item.namespace === undefined || item.definition.conditional) return [];
    const earlier = first.get(item.namespace);
    if (!earlier) first.set(item.namespace, item);
    if (!earlier || earlier.module === item.module) return [];
    const span = spans.of(item.module, item.named.from, item.named.to);
    const related = {
      span: spans.of(earlier.module, earlier.definition.from, earlier.definition.to),
      message: `'${item.namespace}' is first defined here`,
    };
    return [finding(NAMESPACE_IN_TWO_FILES.second({ namespace: item.namespace }), span, { related: [related] })];
  });
}

/** Rules 110, 113 and 117, only where every annotation is understood. */
function keyFindings(model: ProjectModel, item: ClassModel, spans: Spans): Diagnostic[] {
  const keys: FieldModel[] = [];
  const times: FieldModel[] = [];
  let sure = item.complete;
  for (const field of item.fields.values()) {
    const reading = readAnnotation(model, item.module, field.source.annotation);
    const option = field.options.find((keyword) => keyword.name === "primary")?.value;
    if (reading.core.kind === "unknown" || field.open || (option && option.kind !== "bool")) sure = false;
    if (reading.primary || (option?.kind === "bool" && option.value)) keys.push(field);
    if (reading.time) times.push(field);
  }
  const name = item.definition.name;
  const at = (field: FieldModel) => spans.of(item.module, field.source.from, field.source.to);
  const findings: Diagnostic[] = [];
  const [key, secondKey] = keys;
  const [time, secondTime] = times;
  if (key && secondKey) {
    const problem = TWO_PRIMARY_KEYS.second({ name, first: key.attribute, second: secondKey.attribute });
    findings.push(finding(problem, at(secondKey), { related: [{ span: at(key), message: "the first primary key" }] }));
  }
  if (sure && keys.length === 0 && !item.fields.has("id")) {
    const fields = [...item.fields.keys()].join(", ") || "none";
    findings.push(finding(NO_PRIMARY_KEY.none({ name, fields }), spans.of(item.module, item.definition.from, item.definition.to)));
  }
  if (time && secondTime) {
    const problem = TWO_FEATURE_TIMES.second({ name, first: time.attribute, second: secondTime.attribute });
    findings.push(finding(problem, at(secondTime), { related: [{ span: at(time), message: "the first feature time" }] }));
  }
  return findings;
}

/** Rules 119, 124, 125, 142 and 146. */
function fieldFindings(model: ProjectModel, item: ClassModel, spans: Spans): Diagnostic[] {
  const { module, definition } = item;
  const findings = optionFindings(module, spans, definition.name, "class", item.decorator.call);
  const seen = new Map<string, FieldModel["source"]>();
  for (const source of definition.fields) {
    const earlier = seen.get(source.name);
    if (earlier) {
      findings.push(
        finding(ANNOTATED_TWICE.again({ feature: source.name, owner: definition.name }), spans.of(module, source.from, source.to), {
          hint: "Take one of them out.",
          related: [{ span: spans.of(module, earlier.from, earlier.to), message: "first annotated here" }],
        }),
      );
    }
    seen.set(source.name, source);
  }
  const own = new Set([...definition.others, ...item.fields.keys()]);
  for (const field of item.fields.values()) {
    const { annotation, value } = field.source;
    findings.push(...quoteFindings(model, module, spans, annotation));
    if (value?.kind === "call" && field.options.length > 0)
      findings.push(...optionFindings(module, spans, field.attribute, "feature", value.call));
    const { core } = readAnnotation(model, module, annotation);
    if (core.kind === "undefined" && own.has(core.name)) continue;
    findings.push(...nameFindings(model, module, spans, core));
  }
  return findings;
}

/** Rule 125: `DataFrame["X"]`, which cannot be evaluated when the class is made. */
export function quoteFindings(model: ProjectModel, module: PythonModule, spans: Spans, annotation: Expression): Diagnostic[] {
  if (annotation.kind === "union")
    return [...quoteFindings(model, module, spans, annotation.left), ...quoteFindings(model, module, spans, annotation.right)];
  if (annotation.kind !== "subscript" || annotation.object.kind !== "name") return [];
  const inner = annotation.items[0];
  if (inner?.kind !== "string" || model.sdkName(module, [annotation.object.name]) !== "DataFrame") return [];
  const whole = `"DataFrame[${inner.value ?? "..."}]"`;
  return [finding(PARTLY_QUOTED.inner({ whole }), spans.of(module, inner.from, inner.to))];
}

/** Rules 124 and 142 about a name that an annotation reads. */
export function nameFindings(model: ProjectModel, module: PythonModule, spans: Spans, core: Core): Diagnostic[] {
  if (core.kind === "missing") {
    const owner = core.model.definition.name;
    const names = [...core.model.fields.keys()];
    const near = didYouMean(core.attribute, names);
    const problem = UNKNOWN_FEATURE.noSuchFeature({ owner, name: core.attribute, near: near && `; ${near}` });
    return [finding(problem, spans.of(module, core.from, core.to), { replacements: closestNames(core.attribute, names) })];
  }
  if (core.kind === "no window") {
    const { path, written } = core;
    const windows = (path.field.windows ?? []).map((seconds) => readableName(`__${seconds}__`).slice(1, -1)).join(", ") || "none";
    const [owner, name] = [path.root.definition.name, path.attributes.join(".")];
    return [finding(UNKNOWN_FEATURE.noSuchWindow({ owner, name, window: written, windows }), spans.of(module, core.from, core.to))];
  }
  if (core.kind === "undefined") {
    const names = [...model.classes.map((item) => item.definition.name), "int", "float", "str", "bool", "bytes", "list", "set", "dict"];
    const near = didYouMean(core.name, names);
    const problem = UNDEFINED_NAME.inAnnotation({ name: core.name, near: near && `; ${near}` });
    return [finding(problem, spans.of(module, core.from, core.to), { replacements: closestNames(core.name, names) })];
  }
  return [];
}
