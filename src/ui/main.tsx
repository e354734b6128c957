import { render } from "preact";
import { followLinks } from "./app/place.ts";
import { Shell } from "./app/shell.tsx";

const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  followLinks();
  render(<Shell />, root);
}
