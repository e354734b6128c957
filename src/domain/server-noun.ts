/** Names that a server knows, for completion by shells. */

/**
 * A kind of thing that the server knows by name and a shell can complete; `output` is a feature or
 * a class, `source` a branch or a deployment.
 */
export type ServerNoun = "feature" | "output" | "branch" | "environment" | "deployment" | "source";
