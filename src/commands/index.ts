/**
 * The static tree of commands: enough to find a command, print root help and complete words without loading any of them.
 *
 * Where a command lives: `svc x` is `src/commands/x.ts`, `svc x y` is `src/commands/x/y.ts`, and the command that a group runs by itself
 * (`svc features`) is `src/commands/x/index.ts`. Each file has one default export made by `defineCommand`. The summary here is the
 * command's own; the conformance test compares them.
 */

import type { TreeEntry } from "../cli/command.ts";

/** Headings of the root help, in order. */
export const categories = ["Set up", "Build and deploy", "Query and explore", "Server and account", "This tool"] as const;

/** One of the headings. */
export type Category = (typeof categories)[number];

/** Every command by its first word. */
export const commandTree: Readonly<Record<string, TreeEntry & { readonly category: Category }>> = {
  login: {
    summary: "Log in through the browser and store the credentials",
    category: "Set up",
    load: () => import("./login.ts"),
  },
  logout: {
    summary: "Take credentials back, on the server and on this machine",
    category: "Set up",
    load: () => import("./logout.ts"),
  },
  environment: {
    summary: "Show the active environment, or make another one active",
    category: "Set up",
    aliases: ["env"],
    load: () => import("./environment.ts"),
  },
  config: {
    summary: "Print credentials and addresses with their sources",
    category: "Set up",
    load: () => import("./config.ts"),
  },
  init: {
    summary: "Write a project that can be applied as it stands",
    category: "Set up",
    load: () => import("./init.ts"),
  },
  project: {
    summary: "Print the project configuration",
    category: "Set up",
    load: () => import("./project.ts"),
  },
  apply: {
    summary: "Validate, show the diff and deploy the project",
    category: "Build and deploy",
    load: () => import("./apply.ts"),
  },
  lint: {
    summary: "Validate the project locally, then remotely",
    category: "Build and deploy",
    load: () => import("./lint.ts"),
  },
  lsp: {
    summary: "Serve editors: findings, fixes, completion, renaming",
    category: "Build and deploy",
    load: () => import("./lsp.ts"),
  },
  files: {
    summary: "List files that would be uploaded",
    category: "Build and deploy",
    load: () => import("./files.ts"),
  },
  branch: {
    summary: "List branches and download their source",
    category: "Build and deploy",
    examples: ["svc branch list", { run: "svc branch source --branch=try-it --latest", does: "What is deployed on a branch, as a folder" }],
    verbs: {
      list: { summary: "List branches", load: () => import("./branch/list.ts") },
      source: { summary: "Download branch source", load: () => import("./branch/source.ts") },
    },
  },
  source: {
    summary: "Download and extract deployment source",
    category: "Build and deploy",
    load: () => import("./source.ts"),
  },
  diff: {
    summary: "Compare the source of two deployments",
    category: "Build and deploy",
    load: () => import("./diff.ts"),
  },
  query: {
    summary: "Query features online and print their values",
    category: "Query and explore",
    load: () => import("./query.ts"),
  },
  features: {
    summary: "Write feature metadata to a file; list and search features",
    category: "Query and explore",
    load: () => import("./features/index.ts"),
    verbs: {
      list: { summary: "List feature FQNs", load: () => import("./features/list.ts") },
      search: { summary: "Search features", load: () => import("./features/search.ts") },
      resolve: { summary: "Print metadata of given features", load: () => import("./features/resolve.ts") },
    },
  },
  resolvers: {
    summary: "Show resolvers and the features they resolve",
    category: "Query and explore",
    selfVerbs: ["list", "display"],
    load: () => import("./resolvers.ts"),
  },
  server: {
    summary: "Run the feature platform on this machine",
    category: "Server and account",
    examples: [
      { run: "svc server start --detach", does: "In the background; logs you in to it" },
      "svc server status",
      "svc server logs --follow",
      "svc server stop",
    ],
    verbs: {
      start: { summary: "Start the embedded server", load: () => import("./server/start.ts") },
      status: { summary: "Show whether the embedded server runs, and where", load: () => import("./server/status.ts") },
      stop: { summary: "Stop the embedded server", load: () => import("./server/stop.ts") },
      logs: { summary: "Print the log of the embedded server", load: () => import("./server/logs.ts") },
    },
  },
  healthcheck: {
    summary: "Check the API server's components",
    category: "Server and account",
    load: () => import("./healthcheck.ts"),
  },
  user: {
    summary: "Print ids of user, environment and team",
    category: "Server and account",
    aliases: ["whoami"],
    load: () => import("./user.ts"),
  },
  dashboard: {
    summary: "Open the dashboard",
    category: "Server and account",
    load: () => import("./dashboard.ts"),
  },
  doctor: {
    summary: "Remove cached JWTs, then check config, server and Python",
    category: "Server and account",
    load: () => import("./doctor.ts"),
  },
  version: {
    summary: "Print build information",
    category: "This tool",
    load: () => import("./version.ts"),
  },
  update: {
    summary: "Install the latest build of svc, or the one you name",
    category: "This tool",
    load: () => import("./update.ts"),
  },
  releases: {
    summary: "List releases of svc",
    category: "This tool",
    examples: ["svc releases list", { run: "svc releases list --json", does: "With the notes in full" }],
    verbs: {
      list: { summary: "List releases with notes", load: () => import("./releases/list.ts") },
    },
  },
  changelog: {
    summary: "Browse the changelog",
    category: "This tool",
    load: () => import("./changelog.ts"),
  },
  completion: {
    summary: "Print a completion script for a shell",
    category: "This tool",
    load: () => import("./completion.ts"),
  },
  help: {
    summary: "Print help for svc or for one of its commands",
    category: "This tool",
    load: () => import("./help.ts"),
  },
};
