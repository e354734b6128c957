import { useCommand } from "../../app/command.ts";
import { queried } from "../../app/place.ts";
import { Page } from "../../parts/page.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Jobs, OfflineQueries, ResolverRuns, Tasks, Workflows } from "./run-lists.tsx";

const KINDS = [
  { name: "resolvers", title: "Resolvers", words: ["scheduled-resolver", "runs", "list"], content: () => <ResolverRuns /> },
  { name: "offline", title: "Offline queries", words: ["offline-query", "list"], content: () => <OfflineQueries /> },
  { name: "tasks", title: "Tasks", words: ["task", "list"], content: () => <Tasks /> },
  { name: "workflows", title: "Workflows", words: ["workflows", "list"], content: () => <Workflows /> },
  { name: "jobs", title: "Jobs", words: ["jobs", "list"], content: () => <Jobs /> },
] as const;

/** What runs by itself or for long, by kind. */
export default function Runs() {
  const command = useCommand();
  const { words } = KINDS.find(({ name }) => name === queried("kind")) ?? KINDS[0];
  return (
    <Page title="Runs" command={command(...words)}>
      <Tabs label="Kinds of runs" parameter="kind" tabs={KINDS} />
    </Page>
  );
}
