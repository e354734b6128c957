import { escapeControls, readableName } from "../../../domain/name.ts";
import { queried, setQueried } from "../../app/place.ts";
import { SearchBox } from "../../parts/search-box.tsx";
import { lineageIn } from "./lineage-nodes.ts";
import { KIND_WORDS } from "./node-links.tsx";
import { useWholeLineage } from "./use-lineage.ts";

/** Nodes in the list that a search gives. */
const MOST_FOUND = 50;

/** The nodes whose names hold what is searched for, as the way to each. */
export function GraphSearch() {
  const search = queried("q");
  const wanted = search.trim().toLowerCase();
  const whole = useWholeLineage(wanted !== "");
  const nodes = [...lineageIn(whole.data ?? {}).nodes.values()];
  const found = wanted === "" ? [] : nodes.filter(({ name }) => readableName(name).toLowerCase().includes(wanted));
  const leftOff = whole.data?.nodesLeftOff ?? 0;
  return (
    <>
      <SearchBox
        label="Search the lineage"
        placeholder="feature, resolver, source, named query"
        value={search}
        onSearch={(q) => setQueried({ q })}
        {...(wanted !== "" && whole.data && { found: `${found.length} found` })}
      />
      {found.length > 0 && (
        <ul class="nodes found">
          {found.slice(0, MOST_FOUND).map(({ id, kind, name }) => (
            <li key={id}>
              <button type="button" class="quiet name" onClick={() => setQueried({ on: id, node: "", q: "" })}>
                {escapeControls(readableName(name))}
              </button>{" "}
              <span class="dim">{KIND_WORDS[kind]}</span>
            </li>
          ))}
        </ul>
      )}
      {wanted !== "" && leftOff > 0 && (
        <p class="dim">
          {leftOff.toLocaleString("en")} nodes were not looked at: one of those is found by its whole name.{" "}
          <button type="button" class="quiet" onClick={() => setQueried({ on: search.trim(), node: "", q: "" })}>
            Show what is around <span class="name">{escapeControls(search.trim())}</span>
          </button>
        </p>
      )}
    </>
  );
}
