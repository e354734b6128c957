import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { isLoggedIn } from "../api/session.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ROUTES } from "../routes.ts";
import { pageCommand } from "./page-command.ts";
import { go, href } from "./place.ts";
import { toast } from "./toasts.tsx";

/** Milliseconds in which a letter after `g` goes to a page. */
const CHORD_MS = 1_500;

const isHelpOpen = signal(false);
const isPaletteOpen = signal(false);
const palette = signal<ComponentType<{ readonly onClose: () => void }> | undefined>(undefined);

/** Opens the palette, which is loaded when it is first opened. */
export function openPalette(): void {
  if (!isLoggedIn.value) return;
  isPaletteOpen.value = true;
  if (!palette.value) void import("./palette.tsx").then((module) => (palette.value = module.Palette));
}

/** The palette while it is open. */
export function PaletteHost() {
  const Palette = palette.value;
  return isPaletteOpen.value && Palette ? <Palette onClose={() => (isPaletteOpen.value = false)} /> : null;
}

/** What keys do, for the help. */
const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ["Ctrl K", "Go to a page, a feature, a deployment, or anything by its id"],
  ["/", "Search on the page"],
  ["j", "Next row"],
  ["k", "Row before"],
  ["Enter", "Open the row"],
  ["y", "Copy the command that gives the same"],
  ["Esc", "Close"],
  ["?", "These keys"],
];

/** The help of keys, and the handling of all of them. */
export function KeyHelp() {
  useEffect(() => {
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  if (!isHelpOpen.value) return null;
  const goes = Object.values(ROUTES).flatMap(({ key, title }) => (key ? [[`g ${key}`, `Go to ${title}`] as const] : []));
  return (
    <Dialog title="Keys" onClose={() => (isHelpOpen.value = false)}>
      <dl class="keys">
        {[...KEYS, ...goes].map(([keys, does]) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

let isGoing = 0;

function onKey(event: KeyboardEvent): void {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openPalette();
    return;
  }
  const isTyping =
    event.target instanceof HTMLElement && event.target.closest("input:not([type=radio],[type=checkbox]), textarea, select, dialog");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const to = isGoing > Date.now() ? Object.entries(ROUTES).find(([, { key }]) => key === event.key) : undefined;
  isGoing = event.key === "g" ? Date.now() + CHORD_MS : 0;
  if (to && isLoggedIn.value) go(href(to[0] as "overview", {}));
  else if (event.key === "?") isHelpOpen.value = true;
  else if (event.key === "/") focusSearch();
  else if (event.key === "j" || event.key === "k") moveRow(event.key === "j" ? 1 : -1);
  else if (event.key === "y") copyCommand();
  else return;
  event.preventDefault();
}

function focusSearch(): void {
  document.querySelector<HTMLElement>("main input[type=search]")?.focus();
}

/** Moves the focus to the link of the next row. */
function moveRow(step: number): void {
  const links = [...document.querySelectorAll<HTMLElement>("main tbody tr")].flatMap(
    (row) => row.querySelector<HTMLElement>("a, button") ?? [],
  );
  const at = links.findIndex((link) => link.closest("tr")?.contains(document.activeElement));
  const next = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function copyCommand(): void {
  if (pageCommand.value === "") return;
  navigator.clipboard.writeText(pageCommand.value).then(
    () => toast(`Copied: ${pageCommand.value}`),
    () => toast("The browser did not let the page copy.", "bad"),
  );
}
