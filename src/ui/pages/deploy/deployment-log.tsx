import { useEffect, useMemo } from "preact/hooks";
import { usePages } from "../../api/pages.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { LogView } from "../../parts/log-view.tsx";
import { Paged } from "../../parts/paged.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { shownLines } from "./shown-lines.ts";

const PAGE_SIZE = 200;

interface LogParts {
  readonly id: string;
  /** What it does now; whenever that changes, there are new lines. */
  readonly progress: string;
}

/** What was said while a deployment was built, and what its resolvers say. */
export function DeploymentLog({ id, progress }: LogParts) {
  const lines = (search: string) => () => <Lines key={search} search={search} progress={progress} />;
  return (
    <>
      <h2>Log</h2>
      <Tabs
        label="Log"
        parameter="log"
        tabs={[
          { name: "all", title: "All lines", content: lines(`deployment:${id}`) },
          { name: "build", title: "Its build", content: lines(`deployment:${id} component:build`) },
        ]}
      />
    </>
  );
}

function Lines({ search, progress }: { readonly search: string; readonly progress: string }) {
  const command = useCommand();
  const pages = usePages(
    "LogService/SearchLogs",
    { search, pageSize: PAGE_SIZE },
    environmentScope.value,
    (page) => page.lines ?? [],
    (line) => JSON.stringify(line),
  );
  const { rows } = pages;
  const { reload } = pages.first;
  useLive(["logs"], reload);
  useEffect(() => {
    if (progress !== "") reload();
  }, [progress]);
  const shown = useMemo(() => shownLines(rows), [rows.length, rows[0], rows.at(-1)]);
  return (
    <>
      <Paged of={pages} things="lines" empty={<p class="dim">Nothing was said yet, or it is no longer kept.</p>}>
        {() => <LogView label="Lines" lines={shown} />}
      </Paged>
      <p>
        <a href={href("logs", {}, { deployment: "", query: new URLSearchParams({ q: search, range: "30d" }) })}>Search in them</a>
      </p>
      <Command line={command("logs", "--query", search)} />
    </>
  );
}
