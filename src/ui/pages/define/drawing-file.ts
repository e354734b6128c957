/** A drawing of the page as a file of its own. */

/** What of a style a drawing needs where there is no style sheet. */
const SHOWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight"] as const;
/** Attributes that mean nothing outside of the page. */
const OF_PAGE = ["class", "role", "tabindex", "data-node", "aria-pressed", "aria-label"] as const;
const NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * The text of an SVG file that looks as a drawing does now, in the colours of its theme, on the
 * background of its place. Styles become attributes, since no style sheet goes with it.
 * @param title what the drawing is of
 */
export function drawingFile(drawing: SVGSVGElement, title: string): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const copies = [...copy.querySelectorAll("*")];
  for (const [at, shown] of [...drawing.querySelectorAll("*")].entries()) {
    const style = getComputedStyle(shown);
    const own = copies[at];
    for (const name of SHOWN) own?.setAttribute(name, style.getPropertyValue(name));
    for (const name of OF_PAGE) own?.removeAttribute(name);
  }
  for (const name of OF_PAGE) copy.removeAttribute(name);
  const { baseVal: box } = drawing.viewBox;
  const back = document.createElementNS(NAMESPACE, "rect");
  for (const [name, value] of Object.entries({ x: box.x, y: box.y, width: box.width, height: box.height }))
    back.setAttribute(name, String(value));
  back.setAttribute("fill", getComputedStyle(drawing.parentElement ?? drawing).backgroundColor);
  const heading = document.createElementNS(NAMESPACE, "title");
  heading.textContent = title;
  copy.prepend(heading, back);
  return new XMLSerializer().serializeToString(copy);
}
