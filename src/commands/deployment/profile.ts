import type { GetProfileResponse, ResolverProfile } from "../../../gen/svc/v1/deployment_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg, path, text } from "../../cli/flag.ts";
import { hottestFunction, PROFILE_FORMATS, profileFormat, type Stack } from "../../deploy/flame-graph.ts";
import { didYouMean } from "../../domain/closest.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { messageTable } from "../../output/message-view.ts";

export default defineCommand({
  summary: "Show what resolvers spent their time on",
  description:
    "For a deployment that was made with `svc apply --enable-profiling`: what its Python workers were doing when they were looked at, many times a second, since it " +
    "started on this server. Without an ID it is about the live deployment. Resolvers that are computed without Python, and those that wait without a thread (async), " +
    "have no samples.",
  examples: [
    "svc deployment profile",
    { run: "svc deployment profile blue --resolver scoring.score --out score.svg", does: "A flame graph of one resolver" },
    { run: "svc deployment profile --out profile.json", does: "For speedscope; .txt writes collapsed stacks" },
  ],
  needs: ["session"],
  args: { id: optionalArg("id or tag of the deployment; default: the live one", { names: "deployment" }) },
  flags: {
    resolver: text("only this resolver", { placeholder: "<fqn>" }),
    out: path("file for a flame graph: .svg, .json (speedscope) or .txt (collapsed stacks)", { placeholder: "<file>" }),
  },
  check({ out }) {
    if (out !== undefined && profileFormat(out) === undefined)
      throw new UsageError(`--out takes a file that ends in ${Object.keys(PROFILE_FORMATS).join(", ")}`, {
        hint: "For example: --out profile.svg",
      });
  },
  async run(context, { id = "", resolver, out }): Promise<GetProfileResponse> {
    const profile = await (await context.api.deployments()).getProfile({ deploymentId: id });
    const names = profile.resolvers.map((one) => one.resolver);
    if (resolver !== undefined && !names.includes(resolver))
      throw new CliError(`there are no samples of a resolver '${resolver}'`, {
        code: "not_found",
        hint: didYouMean(resolver, names) || "`svc deployment profile` shows the resolvers that have some.",
      });
    const resolvers = resolver === undefined ? profile.resolvers : profile.resolvers.filter((one) => one.resolver === resolver);
    const format = out === undefined ? undefined : profileFormat(out);
    if (out !== undefined && format) {
      const stacks = resolvers.flatMap(stacksOf);
      await context.machine.writeFile(out, format(resolver ?? profile.deploymentId, stacks, profile.intervalMs));
      context.progress.note(`Wrote ${out}`);
    }
    if (resolvers.length === 0) context.progress.note("Nothing was sampled yet: samples arrive about a second after queries.");
    return { ...profile, resolvers };
  },
  view: messageTable<GetProfileResponse>("resolvers", {
    resolver: "Resolver",
    samples: { header: "Samples", align: "right" },
    stacks: { header: "Mostly in", flexible: true, cell: (one) => hottestFunction(stacksOf(one)) },
  }),
});

function stacksOf({ stacks }: ResolverProfile): Stack[] {
  return stacks.map(({ frames, samples }) => ({ frames, samples: Number(samples) }));
}
