import { useEffect, useRef } from "preact/hooks";
import { GROUPS, ROUTES } from "../routes.ts";
import { href, place } from "./place.ts";

/** The pages of the environment, by their groups. */
export function Navigation() {
  const page = place.value?.page;
  const current = page && (ROUTES[page]?.list ?? page);
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
