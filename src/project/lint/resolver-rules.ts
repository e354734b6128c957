/** Rules about Python resolvers: 124, 125, 140 to 144, 146, 148; and 142 in named queries. */

import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import { finding } from "../../domain/finding.ts";
import { BAD_INPUT, BAD_OUTPUT, DUPLICATE_RESOLVER, OUTPUT_IS_INPUT, TWO_INPUT_CLASSES } from "../../domain/rules/resolvers.ts";
import type { RuleProblem } from "../../domain/rules/rule.ts";
import { type FeaturePath, readAnnotation, relationOf } from "./annotation.ts";
import { nameFindings, quoteFindings } from "./class-rules.ts";
import { optionFindings } from "./option-rules.ts";
import { OutputAdvice } from "./output-advice.ts";
import { type ClassModel, dottedPath, type ProjectModel, type ResolverModel } from "./project-model.ts";
import type { Expression } from "./python-expression.ts";
import type { Parameter, PythonModule } from "./python-module.ts";
import type { Spans } from "./spans.ts";

interface Input {
  readonly parameter: Parameter;
  readonly path: FeaturePath;
}

/**
 * Findings about every resolver by itself, about their names against each other, and about the
 * features that named queries name.
 */
export function resolverFindings(model: ProjectModel, spans: Spans): Diagnostic[] {
  return [
    ...model.resolvers.flatMap((resolver) => [
      ...optionFindings(resolver.module, spans, resolver.definition.name, "resolver", resolver.decorator.call),
      ...(resolver.plain ? signatureFindings(model, spans, resolver) : []),
    ]),
    ...sameNames(model, spans),
    ...namedQueryFindings(model, spans),
  ];
}

function signatureFindings(model: ProjectModel, spans: Spans, resolver: ResolverModel): Diagnostic[] {
  const { module, definition } = resolver;
  const findings: Diagnostic[] = [];
  const inputs: Input[] = [];
  for (const parameter of definition.parameters) {
    const found = parameterFindings(model, spans, module, parameter);
    findings.push(...found);
    if (!parameter.annotation || parameter.star) continue;
    const { core } = readAnnotation(model, module, parameter.annotation);
    if (core.kind === "feature" && found.length === 0) inputs.push({ parameter, path: core.path });
  }
  const advice = new OutputAdvice(
    model,
    resolver,
    inputs.map(({ path }) => path),
  );
  const outputs = readOutputs(model, spans, resolver, advice, findings);
  findings.push(...rootFindings(model, spans, module, inputs), ...overlapFindings(spans, module, inputs, outputs));
  return findings;
}

/** Rule 140, and problems of the names in the annotation. */
function parameterFindings(model: ProjectModel, spans: Spans, module: PythonModule, parameter: Parameter): Diagnostic[] {
  const { name, star, annotation } = parameter;
  const atName = spans.of(module, parameter.from, parameter.to);
  if (star) return [finding(BAD_INPUT.starred({ stars: star, parameter: name }), atName)];
  if (!annotation) return [finding(BAD_INPUT.unannotated({ parameter: name }), atName)];
  const { core } = readAnnotation(model, module, annotation);
  const names = [...quoteFindings(model, module, spans, annotation), ...nameFindings(model, module, spans, core)];
  if (names.length > 0) return names;
  const span = spans.of(module, annotation.from, annotation.to);
  const written = module.text.slice(annotation.from, annotation.to);
  if (core.kind === "class") {
    const first = [...core.model.fields.keys()][0] ?? "id";
    return [finding(BAD_INPUT.wholeClass({ parameter: name, owner: core.model.definition.name, first }), span)];
  }
  if (core.kind === "feature" && core.path.relation && !core.path.many) {
    const first = [...core.path.relation.fields.keys()][0] ?? "id";
    return [finding(BAD_INPUT.relation({ parameter: name, written: written.replaceAll(/["']/g, ""), first }), span)];
  }
  if (core.kind !== "value" && core.kind !== "selection") return [];
  return [finding(BAD_INPUT.value({ parameter: name, written }), span)];
}

/** The outputs that are understood; findings 143 and 142 about the others are added. */
function readOutputs(
  model: ProjectModel,
  spans: Spans,
  resolver: ResolverModel,
  advice: OutputAdvice,
  findings: Diagnostic[],
): FeaturePath[] {
  const { module, definition } = resolver;
  const { returns } = definition;
  if (!returns) {
    const example = advice.example();
    if (example !== undefined) {
      const problem = BAD_OUTPUT.unannotated({ resolver: definition.name, advice: example });
      findings.push(finding(problem, spans.of(module, definition.from, definition.to)));
    }
    return [];
  }
  const quotes = quoteFindings(model, module, spans, returns);
  findings.push(...quotes);
  const { core } = readAnnotation(model, module, returns);
  const items = core.kind === "selection" ? [...core.items] : [returns];
  if (core.kind === "selection")
    for (const item of core.excluded) findings.push(...nameFindings(model, module, spans, readAnnotation(model, module, item).core));
  if (quotes.length > 0) return [];
  return items.flatMap((item) => {
    const read = readAnnotation(model, module, item).core;
    findings.push(...nameFindings(model, module, spans, read));
    const problem = outputProblem(read, core.kind === "selection", module, item, advice);
    if (problem) findings.push(finding(problem, spans.of(module, item.from, item.to)));
    return read.kind === "feature" && !problem ? [read.path] : [];
  });
}

/**
 * The problem of an output by rule 143; undefined where the text does not show what to do about it,
 * because the analyzer's finding says both.
 */
function outputProblem(
  core: ReturnType<typeof readAnnotation>["core"],
  inSelection: boolean,
  module: PythonModule,
  item: Expression,
  advice: OutputAdvice,
): RuleProblem | undefined {
  const written = module.text.slice(item.from, item.to);
  if (core.kind === "class" && !inSelection) {
    const instead = advice.ofClass(core.model);
    return instead === undefined ? undefined : BAD_OUTPUT.wholeClass({ owner: core.model.definition.name, advice: instead });
  }
  if (core.kind === "feature" && core.path.relation && !core.path.many && core.path.attributes.length === 1) {
    const instead = advice.ofRelation(core.path);
    return instead === undefined ? undefined : BAD_OUTPUT.relation({ feature: written, advice: instead });
  }
  if (core.kind !== "value" && core.kind !== "now") return undefined;
  const instead = advice.example();
  return instead === undefined ? undefined : BAD_OUTPUT.value({ written, advice: instead });
}

/** Rule 141: parameters of several classes. */
function rootFindings(model: ProjectModel, spans: Spans, module: PythonModule, inputs: readonly Input[]): Diagnostic[] {
  const first = inputs[0];
  if (!first) return [];
  const root = first.path.root;
  return inputs.slice(1).flatMap(({ parameter, path }) => {
    if (path.root === root || !parameter.annotation) return [];
    const { name } = root.definition;
    const problem = TWO_INPUT_CLASSES.inParameters({ name, other: path.root.definition.name, advice: advice(model, root, path) });
    const at = first.parameter.annotation;
    const related = at ? [{ span: spans.of(module, at.from, at.to), message: `starts from ${name}` }] : [];
    return [finding(problem, spans.of(module, parameter.annotation.from, parameter.annotation.to), { related })];
  });
}

function advice(model: ProjectModel, root: ClassModel, path: FeaturePath): string {
  for (const field of root.fields.values())
    if (relationOf(model, root, field) === path.root)
      return `; write '${root.definition.name}.${field.attribute}.${path.attributes.join(".")}'`;
  return "; relate the two classes and go through the relation";
}

/** Rule 144: outputs that are inputs. */
function overlapFindings(spans: Spans, module: PythonModule, inputs: readonly Input[], outputs: readonly FeaturePath[]): Diagnostic[] {
  return outputs.flatMap((output) => {
    const input = inputs.find(({ path }) => path.root === output.root && path.attributes.join(".") === output.attributes.join("."));
    if (!input?.parameter.annotation) return [];
    const feature = `${output.root.namespace ?? output.root.definition.name}.${output.attributes.join(".")}`;
    const { annotation, name } = input.parameter;
    return [
      finding(OUTPUT_IS_INPUT.alsoInput({ feature, parameter: name }), spans.of(module, output.expression.from, output.expression.to), {
        related: [{ span: spans.of(module, annotation.from, annotation.to), message: "the input" }],
      }),
    ];
  });
}

/** Rule 148 between Python resolvers of different files, or of one file under `name=`. */
function sameNames(model: ProjectModel, spans: Spans): Diagnostic[] {
  const first = new Map<string, ResolverModel>();
  return model.resolvers.flatMap((resolver) => {
    const { module, definition, fqn, named } = resolver;
    if (fqn === undefined) return [];
    const earlier = first.get(fqn);
    if (!earlier) first.set(fqn, resolver);
    if (!earlier || (earlier.module === module && earlier.definition.name === definition.name)) return [];
    const related = [{ span: spans.of(earlier.module, earlier.definition.from, earlier.definition.to), message: "first defined here" }];
    return [finding(DUPLICATE_RESOLVER.inPython({ resolver: fqn }), spans.of(module, named.from, named.to), { related })];
  });
}

/** Rule 142 about the features that named queries list. */
function namedQueryFindings(model: ProjectModel, spans: Spans): Diagnostic[] {
  return model.modules.flatMap((module) =>
    module.calls.flatMap(({ call }) => {
      if (model.sdkName(module, dottedPath(call.callee) ?? []) !== "NamedQuery") return [];
      const lists = call.call.keywords.filter((keyword) => keyword.name === "input" || keyword.name === "output");
      const items = lists.flatMap(({ value }) => (value.kind === "list" ? value.items : []));
      return items.flatMap((item) => {
        const { core } = readAnnotation(model, module, item);
        return core.kind === "missing" || core.kind === "no window" ? nameFindings(model, module, spans, core) : [];
      });
    }),
  );
}
