import { addressOf } from "../../domain/addresses.ts";
import { escapeControls } from "../../domain/name.ts";
import { go, href, place, scope } from "./place.ts";
import { useBranches, useCaller, useEnvironments } from "./who.ts";

/** The environment and the branch that pages show, and the way to others. */
export function ScopeSwitch() {
  const { environments } = useEnvironments();
  const branches = useBranches();
  const { environment, branch, deployment } = scope.value;
  const own = useCaller().data?.environmentId ?? "";
  const wanted = environment || own;
  const current = environments.find(({ id, name }) => id === wanted || name === wanted);
  const projects = new Set(environments.map(({ projectName }) => projectName));
  /** The list of the same page elsewhere: one thing is not in other environments. */
  const move = (to: { readonly environment: string; readonly branch: string }) => {
    const here = place.value;
    const isList = here && Object.keys(here.params).length === 0;
    go(isList ? addressOf(here.page as "overview", {}, to) : addressOf("overview", {}, to));
  };
  return (
    <div class="scope">
      <label>
        <span class="unseen">Environment</span>
        <select value={current?.id ?? wanted} onChange={(event) => move({ environment: event.currentTarget.value, branch: "" })}>
          {!current && <option value={wanted}>{escapeControls(wanted)}</option>}
          {environments.map(({ id = "", name = "", projectName = "" }) => (
            <option key={id} value={id}>
              {escapeControls(projects.size > 1 ? `${projectName} / ${name}` : name)}
            </option>
          ))}
        </select>
      </label>
      {(branches.length > 0 || branch !== "") && (
        <label>
          <span class="unseen">Branch</span>
          <select value={branch} onChange={(event) => move({ environment, branch: event.currentTarget.value })}>
            <option value="">no branch</option>
            {branch !== "" && !branches.some(({ name }) => name === branch) && <option value={branch}>{escapeControls(branch)}</option>}
            {branches.map(({ name = "" }) => (
              <option key={name} value={name}>
                {escapeControls(name)}
              </option>
            ))}
          </select>
        </label>
      )}
      {deployment !== "" && place.value && (
        <a class="badge" href={href("overview", {}, { deployment: "" })} aria-label={`Deployment ${deployment}: leave it`}>
          {escapeControls(deployment)} {"\u00d7"}
        </a>
      )}
    </div>
  );
}
