import type { QueryResponse } from "../../gen/svc/v1/query_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { bool, duration, keyValue, list, text, timestamp } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { readableName } from "../domain/name.ts";
import { CliError } from "../errors/cli-error.ts";
import { tableView } from "../output/view.ts";
import { answerJson, failureLines, valueText } from "./query/answer.ts";
import { checkQueryFlags, type QueryFlags, queryRequest } from "./query/request.ts";

/** An answer, and how it is to be shown. */
interface Answer {
  readonly response: QueryResponse;
  readonly translate: boolean;
  readonly includeMeta: boolean;
}

interface Input extends QueryFlags {
  readonly repeat: number | undefined;
  readonly translateFqns: boolean;
  readonly includeMeta: boolean;
}

export default defineCommand({
  summary: "Query features online and print their values",
  description:
    "Features are named in full (`user.email`), from the root of the inputs (`email`), or, with a leading dot, in full for certain (`.user.email`). " +
    "Values of --in are JSON; text need not be quoted. A feature that fails does not stop the others; the exit code is 1 then.",
  examples: [
    { run: "svc query --in user.id=1 --out user", does: "All features of a user" },
    "svc query --in user.id=1 --out user.email --staleness user.email=1h",
    { run: "svc query --in document.id=1 --in 'document.text=@file(note.txt)' --out document.length", does: "Read a value from a file" },
    "svc query --in user.id=1 --out user --repeat 5s --json",
  ],
  needs: ["session"],
  flags: {
    in: list(
      keyValue("input; a leading dot means an absolute name; @file(path) reads the value from a file", { placeholder: "<feature=value>" }),
    ),
    rawInputs: bool("inputs are raw strings, no JSON decoding", { aliases: ["--raw"] }),
    out: list(text("output feature or namespace; comma list accepted", { placeholder: "<feature>" }), { split: true }),
    staleness: list(keyValue("how old a stored value may be", { placeholder: "<feature=duration>" })),
    repeat: duration("repeat the query every so often, until interrupted"),
    deployment: text("query this deployment, for code deployed with --no-promote", { aliases: ["--deployment-id"], placeholder: "<id>" }),
    queryName: text("query name", { placeholder: "<name>" }),
    queryNameVersion: text("version of the named query", { placeholder: "<version>" }),
    now: timestamp("answer as of this instant, ISO 8601 with a time zone", { requireZone: true }),
    tag: list(text("tag for choosing resolvers", { placeholder: "<tag>" })),
    queryContext: list(keyValue("context that Python resolvers can read")),
    plannerOption: list(keyValue("planner option")),
    correlationId: text("correlation ID, kept in the log", { placeholder: "<id>" }),
    explain: bool("print the plan with its figures"),
    storePlanStages: bool("store all intermediate values (much slower)"),
    trace: bool("enable tracing"),
    translateFqns: bool("with --json, write windowed names readably: name[1d] for name__86400__", { aliases: ["--translate-windows"] }),
    includeMeta: bool("with --json, add metadata per feature"),
  },
  check: checkQueryFlags,
  run(context, input: Input): Promise<Answer> | AsyncIterable<Answer> {
    return context.flags.json && input.repeat === undefined ? ask(context, input) : answers(context, input);
  },
  view: tableView({
    things: "features",
    before: ({ response }: Answer, style) => (response.meta?.url ? style.dim(response.meta.url) : ""),
    rows: ({ response }) => response.data,
    columns: [
      { header: "Name", cell: ({ field }) => readableName(field) },
      { header: "Hit?", cell: ({ meta }) => (meta?.cacheHit ? "✓" : ""), style: (cell, style) => style.green(cell) },
      {
        header: "Value",
        cell: ({ error, value }) => (error ? "(failed)" : valueText(value)),
        style: (cell, style, { error }) => (error ? style.red(cell) : cell),
      },
    ],
    after: ({ response }) => response.explainOutput,
    json: ({ response, translate, includeMeta }) => {
      for (const result of response.data) if (!includeMeta) result.meta = undefined;
      return answerJson(response, translate ? readableName : (name) => name);
    },
  }),
  exitCode: ({ response }) => (failed(response) ? 1 : 0),
});

async function ask(context: Context, input: Input): Promise<Answer> {
  const service = await context.api.query();
  const response = await service.query(await queryRequest(context, input));
  for (const namespace of response.inferredOutputs) context.progress.note(`Using '--out=${namespace}'`);
  return { response, translate: input.translateFqns, includeMeta: input.includeMeta };
}

/** The generator goes on once its item was shown, so failures come below the table. */
async function* answers(context: Context, input: Input): AsyncIterable<Answer> {
  const { clock, flags, io, signal } = context;
  for (;;) {
    const started = clock.now();
    const answer = await ask(context, input);
    yield answer;
    if (!flags.json) for (const line of failureLines(answer.response)) io.writeErr(`${line}\n`);
    if (input.repeat === undefined) {
      if (!failed(answer.response)) return;
      const wrong = answer.response.data.filter(({ error }) => error !== undefined).length;
      throw new CliError(`${wrong || "some"} of ${answer.response.data.length} features could not be answered`, { code: "query_failed" });
    }
    await clock.sleep(Math.max(0, input.repeat - (clock.now() - started)), signal);
  }
}

function failed(response: QueryResponse): boolean {
  return response.errors.length > 0 || response.data.some(({ error }) => error !== undefined);
}
