import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { escapeControls } from "../../../domain/name.ts";
import { CallError, call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { queried, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Diff } from "../../parts/diff.tsx";
import { Failed } from "../../parts/failed.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { stateText } from "./deployment-state.tsx";
import { changedFiles, type SourceFiles } from "./source-files.ts";

/** Deployments that one can compare with. */
const MOST_OFFERED = 50;

/** How the source of a deployment differs from that of another one, which the address names. */
export function SourceDiff({ id, branch }: { readonly id: string; readonly branch: string }) {
  const command = useCommand();
  const other = queried("with");
  const list = useAnswer("DeploymentService/ListDeployments", { branch, pageSize: MOST_OFFERED }, environmentScope.value);
  const offered = (list.data?.deployments ?? []).filter((one) => one.id !== id);
  const ids = [...new Set([...(other === "" ? [] : [other]), ...offered.map((one) => one.id ?? "")])];
  return (
    <>
      <h2>Source</h2>
      <label>
        Compare with{" "}
        <select value={other} onChange={({ currentTarget }) => setQueried({ with: currentTarget.value })}>
          <option value="">nothing</option>
          {ids.map((one) => {
            const found = offered.find((deployment) => deployment.id === one);
            return <option key={one} value={one}>{`${escapeControls(one)}${found ? `, ${stateText(found)}` : ""}`}</option>;
          })}
        </select>
      </label>
      {other !== "" && (
        <>
          <p>
            <Command line={command("diff", other, id)} />
          </p>
          <Differences before={other} after={id} />
        </>
      )}
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
