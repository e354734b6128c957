/** The place where the tab is, and how it moves: one signal, plain links, the browser's history. */

import { computed, signal } from "@preact/signals";
import { type AddressParts, addressOf, ownPath, type PageName, type PageParameters, type Place, placeOf } from "../../domain/addresses.ts";
import { routeOf } from "../routes.ts";

const here = (): string => location.pathname + location.search;

/** The address of the tab, without its fragment. */
export const address = signal(here());

/** The place of the tab; undefined at an address that is no page. */
export const place = computed<Place | undefined>(() => placeOf(address.value));

/** The scope that calls of this page have. */
export const scope = computed(() => place.value?.scope ?? { environment: "", branch: "", deployment: "" });

/** Counts the moves of this tab, each of which puts the focus on the page. */
export const moves = signal(0);

/**
 * Goes to a path of this server; an address that this app has no page for is loaded, as a link to
 * it is. Anything else is refused: throws RangeError.
 */
export function go(path: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  const own = ownPath(path, location.origin);
  if (own === undefined) throw new RangeError(`no page of this server: ${path}`);
  const next = placeOf(own);
  if (!next || !routeOf(next.page)) {
    location.assign(own);
    return;
  }
  if (replace) history.replaceState(null, "", own);
  else history.pushState(null, "", own);
  address.value = here();
  if (!replace) moves.value++;
}

/** The address of a page in the scope of this one. */
export function href<P extends PageName>(page: P, params: PageParameters<P>, parts: AddressParts = {}): string {
  return addressOf(page, params, { ...scope.value, ...parts });
}

/** The first value of a name in the address's query; empty when it has none. */
export function queried(name: string): string {
  return place.value?.query.get(name) ?? "";
}

/** Changes values in the address's query in place; an empty one is removed. */
export function setQueried(values: Readonly<Record<string, string>>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    query.delete(name);
    if (value !== "") query.append(name, value);
  }
  go(`${location.pathname}${query.size > 0 ? `?${query}` : ""}${location.hash}`, { replace: true });
}

/** Follows links to pages of this app without loading a document. */
export function followLinks(): void {
  window.addEventListener("popstate", () => {
    address.value = here();
    moves.value++;
  });
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!(link instanceof HTMLAnchorElement) || !isPlain || event.defaultPrevented || link.target !== "" || link.hasAttribute("download"))
      return;
    const path = link.origin === location.origin ? link.pathname + link.search : "";
    const next = placeOf(path);
    if (!next || !routeOf(next.page) || (link.hash !== "" && path === address.value)) return;
    event.preventDefault();
    go(path + link.hash);
  });
}
