import { useCommand } from "../../app/command.ts";
import { Page } from "../../parts/page.tsx";
import type { PageProps } from "../../routes.ts";
import { JobContent } from "./job-content.tsx";
import { OfflineQueryContent } from "./offline-query-content.tsx";
import { runKindOf } from "./run-state.ts";
import { TaskContent } from "./task-content.tsx";
import { WorkflowContent } from "./workflow-content.tsx";

const KINDS = {
  job: { title: "Job", words: ["jobs", "get"], Content: JobContent },
  workflow: { title: "Workflow", words: ["workflows", "get"], Content: WorkflowContent },
  "offline query": { title: "Offline query", words: ["offline-query", "get"], Content: OfflineQueryContent },
  task: { title: "Task", words: ["task", "get"], Content: TaskContent },
} as const;

/** One run: its state as it changes, its parts, and its lines. */
export default function Run({ place }: PageProps<"run">) {
  const command = useCommand();
  const { id } = place.params;
  const { Content, title, words } = KINDS[runKindOf(id)];
  return (
    <Page title={`${title} ${id}`} command={command(...words, id)}>
      <Content id={id} />
    </Page>
  );
}
