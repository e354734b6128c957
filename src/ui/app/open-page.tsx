import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { Component } from "preact";
import { useEffect } from "preact/hooks";
import type { PageName } from "../../domain/addresses.ts";
import { CallError } from "../api/call.ts";
import type { Loaded } from "../api/load.ts";
import { Empty } from "../parts/empty.tsx";
import { Failed } from "../parts/failed.tsx";
import { Page } from "../parts/page.tsx";
import { Skeleton } from "../parts/skeleton.tsx";
import { type PageProps, routeOf } from "../routes.ts";
import { address, href, moves, place } from "./place.ts";

type Loading = { readonly page: ComponentType<PageProps> } | { readonly error: CallError } | undefined;

/** The components of pages that were loaded. */
const components = signal<ReadonlyMap<PageName, Loading>>(new Map());

function load(name: PageName): void {
  const found = routeOf(name);
  if (!found || components.peek().get(name)) return;
  const keep = (loading: Loading) => {
    components.value = new Map(components.peek()).set(name, loading);
  };
  found.load().then(
    (module) => keep({ page: module.default }),
    () =>
      keep({
        error: new CallError("unreachable", "The page could not be loaded.", "The server may have been updated: load the page again."),
      }),
  );
}

/** The page of the tab's place. */
export function OpenPage({ caller }: { readonly caller: Loaded<unknown> }) {
  const here = place.value;
  useEffect(() => {
    if (here) load(here.page);
  }, [here?.page]);
  useEffect(() => {
    if (moves.value > 0) document.getElementById("main")?.focus({ preventScroll: true });
  }, [moves.value]);
  if (caller.error && caller.data === undefined) return <Troubled error={caller.error} onRetry={caller.reload} />;
  if (!here || !routeOf(here.page)) return <Nothing />;
  const loaded = components.value.get(here.page);
  if (!loaded) return <Skeleton lines={6} />;
  if ("error" in loaded) return <Troubled error={loaded.error} onRetry={() => location.reload()} />;
  const Loaded = loaded.page;
  return (
    <Guarded key={`${here.page} ${JSON.stringify(here.params)} ${JSON.stringify(here.scope)}`}>
      <Loaded place={here} />
    </Guarded>
  );
}

function Nothing() {
  return (
    <Page title="Nothing here">
      <Empty>
        There is no page at {address.value}. Go to the <a href={href("overview", {})}>overview</a>, or find a page with <kbd>Ctrl</kbd>{" "}
        <kbd>K</kbd>.
      </Empty>
    </Page>
  );
}

function Troubled({ error, onRetry }: { readonly error: CallError; readonly onRetry: () => void }) {
  return (
    <Page title={error.code === "unreachable" ? "No answer" : "Not shown"}>
      <Failed error={error} onRetry={onRetry} />
    </Page>
  );
}

/** Shows a failure of the page's own code in place of the page. */
class Guarded extends Component<{ readonly children: preact.ComponentChildren }, { readonly error?: Error }> {
  static override getDerivedStateFromError(error: Error) {
    return { error };
  }
  override componentDidCatch(error: Error): void {
    console.error(error);
  }
  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <Troubled error={new CallError("unknown", `The page failed: ${error.message}`)} onRetry={() => this.setState({ error: undefined })} />
    );
  }
}
