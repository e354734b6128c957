import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { escapeControls } from "../../../domain/name.ts";
import { CallError, call } from "../../api/call.ts";
import { useCommand } from "../../app/command.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Diff } from "../../parts/diff.tsx";
import { Failed } from "../../parts/failed.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { changedFiles, type SourceFiles } from "./source-files.ts";

/** How the source of a deployment differs from that of another one. */
export function SourceDiff({ id, other }: { readonly id: string; readonly other: string }) {
  const command = useCommand();
  return (
    <>
      <h3>Source</h3>
      <p>
        <Command line={command("diff", other, id)} />
      </p>
      <Differences before={other} after={id} />
    </>
  );
}

function Differences({ before, after }: { readonly before: string; readonly after: string }) {
  const sources = useSignal<readonly [SourceFiles, SourceFiles] | undefined>(undefined);
  const error = useSignal<CallError | undefined>(undefined);
  useEffect(() => {
    let isWanted = true;
    sources.value = undefined;
    error.value = undefined;
    Promise.all([filesOf(before), filesOf(after)]).then(
      (found) => {
        if (isWanted) sources.value = found;
      },
      (thrown: unknown) => {
        if (isWanted)
          error.value = thrown instanceof CallError ? thrown : new CallError("unknown", `The source cannot be shown: ${String(thrown)}`);
      },
    );
    return () => {
      isWanted = false;
    };
  }, [before, after]);
  if (error.value) return <Failed error={error.value} />;
  if (!sources.value) return <Skeleton lines={6} />;
  const [old, now] = sources.value;
  const paths = changedFiles(old, now);
  if (paths.length === 0) return <p class="dim">The sources are the same.</p>;
  return paths.map((path) => <FileDiff key={path} path={path} old={old} now={now} />);
}

function FileDiff({ path, old, now }: { readonly path: string; readonly old: SourceFiles; readonly now: SourceFiles }) {
  const word = !old.has(path) ? ", added" : !now.has(path) ? ", removed" : "";
  const [before, after] = [old.has(path) ? old.get(path) : "", now.has(path) ? now.get(path) : ""];
  if (before === undefined || after === undefined)
    return (
      <p class="dim">
        {escapeControls(path)}: not a text{word}, it differs.
      </p>
    );
  return <Diff label={path + word} before={before} after={after} />;
}

/** The files of a deployment; the code that unpacks them is loaded when it is needed. */
async function filesOf(target: string): Promise<SourceFiles> {
  const [{ sourceFiles }, { url = "" }] = await Promise.all([
    import("./source-files.ts"),
    call("DeploymentService/GetSource", { target }, environmentScope.value),
  ]);
  const response = await fetch(url);
  if (!response.ok || !response.body) throw new CallError("unknown", `The source was refused: ${response.status}.`);
  return sourceFiles(response.body);
}
