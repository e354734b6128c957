import type { ComponentChildren } from "preact";
import { queried, setQueried } from "../app/place.ts";

/** One tab: its name in the address, its title, and its content, made when it is shown. */
export interface Tab {
  readonly name: string;
  readonly title: string;
  readonly content: () => ComponentChildren;
}

/** Tabs, of which the address says which is open: `?tab=log`. The first is open otherwise. */
export function Tabs({
  label,
  tabs,
  parameter = "tab",
}: {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly parameter?: string;
}) {
  const open = tabs.find(({ name }) => name === queried(parameter)) ?? tabs[0];
  if (!open) return null;
  const show = (tab: Tab) => setQueried({ [parameter]: tab === tabs[0] ? "" : tab.name });
  const id = (part: string, { name }: Tab) => `${parameter}-${part}-${name}`;
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(open) + step + tabs.length) % tabs.length];
    if (!next) return;
    show(next);
    document.getElementById(id("of", next))?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button
            key={tab.name}
            type="button"
            role="tab"
            id={id("of", tab)}
            aria-selected={tab === open}
            aria-controls={id("panel", open)}
            tabIndex={tab === open ? 0 : -1}
            onClick={() => show(tab)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={id("panel", open)} aria-labelledby={id("of", open)}>
        {open.content()}
      </div>
    </>
  );
}
