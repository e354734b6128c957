/** Sets of requirements by which some resolvers run in worker processes of their own. */

import type { Diagnostic, Span } from "../../gen/svc/v1/error_pb.ts";
import type { Graph } from "../../gen/svc/v1/graph_pb.ts";
import { didYouMean } from "./closest.ts";
import { finding } from "./finding.ts";
import { isInEnvironment } from "./in-environment.ts";
import { UNKNOWN_VENV } from "./rules/project.ts";

/** Most venvs of an environment. */
export const MAX_VENVS = 20;
/** Names of venvs. */
export const VENV_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** What names a venv. */
interface VenvUser {
  readonly what: string;
  readonly venvs: readonly string[];
  readonly span: Span | undefined;
}

/** A venv as a project has it; with its place, one that nothing runs in is a finding. */
export interface DeclaredVenv {
  readonly name: string;
  readonly span?: Span;
}

/**
 * Findings 196: venvs that definitions of an environment name and the project lacks, and those that
 * nothing runs in: hooks run only where resolvers do.
 * @param environmentName undefined = of any environment
 */
export function venvFindings(graph: Graph, declared: readonly DeclaredVenv[], environmentName: string | undefined): Diagnostic[] {
  const names = declared.map(({ name }) => name);
  const users = venvUsers(graph, environmentName);
  const unknown = users.flatMap(({ what, venvs, span }) =>
    venvs
      .filter((venv) => !names.includes(venv))
      .map((venv) => {
        const advice = didYouMean(venv, names) || (names.length > 0 ? `it has ${names.join(", ")}` : "it has none");
        return finding(UNKNOWN_VENV.unknown({ what, venv, advice }), span);
      }),
  );
  const used = new Set(
    [...[...graph.resolvers, ...graph.streamResolvers, ...graph.sinkResolvers], ...[...graph.evaluations, ...graph.computeFunctions]].map(
      ({ venv }) => venv,
    ),
  );
  const unused = declared
    .filter(({ name, span }) => span !== undefined && !used.has(name))
    .map(({ name, span }) => finding({ ...UNKNOWN_VENV.unused({ venv: name }), severity: "warning" }, span));
  return [...unknown, ...unused];
}

function venvUsers(
  { computeFunctions, evaluations, hooks, resolvers, sinkResolvers, streamResolvers }: Graph,
  environmentName: string | undefined,
): VenvUser[] {
  return [
    ...[...resolvers, ...streamResolvers, ...sinkResolvers]
      .filter(({ venv, environments }) => venv !== "" && isInEnvironment(environments, environmentName))
      .map(({ fqn, venv, span }) => ({ what: `the resolver '${fqn}'`, venvs: [venv], span })),
    ...hooks
      .filter(({ environments }) => isInEnvironment(environments, environmentName))
      .map(({ name, venvs, span }) => ({ what: `the hook '${name}'`, venvs, span })),
    ...computeFunctions
      .filter(({ venv, environments }) => venv !== "" && isInEnvironment(environments, environmentName))
      .map(({ name, venv, span }) => ({ what: `the function '${name}'`, venvs: [venv], span })),
    ...evaluations
      .filter(({ venv }) => venv !== "")
      .map(({ name, venv, span }) => ({ what: `the evaluation '${name}'`, venvs: [venv], span })),
  ];
}
