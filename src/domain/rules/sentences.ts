/** Sentences that findings of several rules say. */

import { message } from "./rule.ts";

/** A class does not have the feature. `near` is empty, or "; did you mean ...?". */
export const NO_SUCH_FEATURE = message("{owner} has no feature '{name}'{near}", "no such feature");

/** A windowed feature does not have the window. */
export const NO_SUCH_WINDOW = message("{owner}.{name} has no window '{window}'; its windows are: {windows}", "no such window");

/** The path of a list or DataFrame goes through a feature that is no relation. */
export const NO_COLUMN = message(
  "'{type}' is no column: write DataFrame[User.id, User.name], or DataFrame[User] for all of it",
  "no column",
);
