import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { addressOf, type PageName } from "../../domain/addresses.ts";
import { escapeControls, readableName } from "../../domain/name.ts";
import { useAnswer } from "../api/load.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ROUTES, routeOf } from "../routes.ts";
import { COMMANDS, entryOfId, entryOfPage, fitting, type PaletteEntry } from "./palette-entries.ts";
import { go, href, scope } from "./place.ts";
import { toast } from "./toasts.tsx";
import { useEnvironments } from "./who.ts";

const MOST_SHOWN = 12;

/**
 * The command palette: goes to pages, features, deployments and environments, and copies commands.
 */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const typed = useSignal("");
  const chosen = useSignal(0);
  const all = useEntries();
  const byId = entryOfId(typed.value, scope.value.environment);
  const shown = useMemo(() => [...(byId ? [byId] : []), ...fitting(all, typed.value, MOST_SHOWN)], [all, typed.value]);
  const open = (entry: PaletteEntry | undefined) => {
    if (!entry) return;
    onClose();
    if (entry.to !== undefined) go(entry.to);
    else void navigator.clipboard.writeText(entry.copies ?? "").then(() => toast(`Copied: ${entry.copies}`));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && shown.length > 0) chosen.value = (chosen.value + step + shown.length) % shown.length;
    else if (event.key === "Enter") open(shown[chosen.value]);
    else return;
    event.preventDefault();
    document.getElementById(`palette-${chosen.value}`)?.scrollIntoView({ block: "nearest" });
  };
  return (
    <Dialog title="Go to" onClose={onClose} isBare>
      <input
        class="palette-input"
        role="combobox"
        aria-label="Page, feature, id or command"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={shown.length > 0 ? `palette-${chosen.value}` : undefined}
        aria-autocomplete="list"
        placeholder="Page, feature, id or command"
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
          chosen.value = 0;
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id="palette-list" aria-label="Found" class="palette-list">
        {shown.map((entry, at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the input's
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input
          <div
            key={`${entry.kind} ${entry.title}`}
            role="option"
            id={`palette-${at}`}
            aria-selected={at === chosen.value}
            onClick={() => open(entry)}
          >
            <span>{escapeControls(entry.title)}</span>
            <span class="dim">{entry.kind}</span>
          </div>
        ))}
      </div>
      <p class="dim palette-count" role="status">
        {shown.length === 0 ? "Nothing fits." : `${shown.length} found`}
      </p>
    </Dialog>
  );
}

function useEntries(): readonly PaletteEntry[] {
  const features = useAnswer("GraphService/ListFeatures", {}, scope.value).data?.features;
  const deployments = useAnswer(
    "DeploymentService/ListDeployments",
    { branch: scope.value.branch, pageSize: 50 },
    { ...scope.value, deployment: "" },
  );
  const { environments } = useEnvironments();
  const found = deployments.data?.deployments;
  return useMemo(() => {
    const pages = Object.entries(ROUTES).flatMap(([page, { group, title }]) =>
      group || page === "gallery" ? [entryOfPage(page as PageName, title, href(page as "overview", {}))] : [],
    );
    return [
      ...pages,
      ...environments.map(({ id = "", name = "" }) => ({
        kind: "environment",
        title: name,
        to: addressOf("overview", {}, { environment: id }),
      })),
      ...(found ?? []).map(({ id = "" }) => ({ kind: "deployment", title: id, to: href("deployment", { id }, { deployment: "" }) })),
      ...(features ?? []).flatMap(({ feature: { fqn = "" } = {} }) => (fqn === "" ? [] : [featureEntry(fqn)])),
      ...COMMANDS.map((line) => ({ kind: "copy", title: line, copies: line })),
    ];
  }, [features, found, environments, scope.value]);
}

/** The feature's page, or as long as there is none, the list that finds it. */
function featureEntry(fqn: string): PaletteEntry {
  const title = readableName(fqn);
  const to = routeOf("feature") ? href("feature", { fqn }) : href("features", {}, { query: new URLSearchParams({ q: title }) });
  return { kind: "feature", title, to };
}
