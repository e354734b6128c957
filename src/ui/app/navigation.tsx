import { useEffect, useRef } from "preact/hooks";
import type { PageName } from "../../domain/addresses.ts";
import { GROUPS, ROUTES } from "../routes.ts";
import { href, place } from "./place.ts";

/** Pages of one thing, by the page of the list that they belong to. */
const LISTS: Readonly<Partial<Record<PageName, PageName>>> = {
  feature: "features",
  resolver: "resolvers",
  namedQuery: "namedQueries",
  source: "sources",
  queryRun: "queryRuns",
  queryRunStage: "queryRuns",
  run: "runs",
  schedule: "schedules",
  dataset: "datasets",
  eval: "evals",
  evalRun: "evals",
  benchmark: "benchmarks",
  notebook: "notebooks",
  deployment: "deployments",
  stream: "streams",
  trace: "traces",
  monitor: "monitors",
  setting: "settings",
};

/** The pages of the environment, by their groups. */
export function Navigation() {
  const page = place.value?.page;
  const current = page && (LISTS[page] ?? page);
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    const [box, link] = [nav.current, nav.current?.querySelector('[aria-current="page"]')];
    if (!box || !link) return;
    const [outer, inner] = [box.getBoundingClientRect(), link.getBoundingClientRect()];
    // On a narrow screen it is a strip that scrolls.
    if (inner.left < outer.left || inner.right > outer.right)
      box.scrollBy({ left: inner.left - outer.left - (outer.width - inner.width) / 2 });
  }, [current]);
  const inNavigation = Object.entries(ROUTES).filter(([, { group }]) => group !== undefined);
  return (
    <nav class="nav" aria-label="Pages" ref={nav}>
      {GROUPS.map((group) => {
        const own = inNavigation.filter(([, row]) => row.group === group);
        return own.length === 0 ? null : (
          <div key={group} class="nav-group">
            <h2>{group}</h2>
            <ul>
              {own.map(([name, { title }]) => (
                <li key={name}>
                  <a href={href(name as "overview", {})} aria-current={name === current ? "page" : undefined}>
                    {title}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}
